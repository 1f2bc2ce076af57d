"""The gateway's source without the hooks of tracing, Python without the extra `otel`, and the hooks by themselves."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from timeit import repeat
from types import SimpleNamespace

from bench.paths import ROOT, SetupError
from gateway.telemetry import Record

_TIMES, _REPEATS = 100_000, 7
_HIDING = """\
import sys


class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("opentelemetry.sdk", "opentelemetry.exporter"):
            raise ImportError(f"{name} is hidden by bench/unhooked.py")


sys.meta_path.insert(0, Hiding)
"""
_CUTS = {
    "relay/handler.py": (
        (
            "        tracing = self._telemetry.tracing\n"
            "        traced = None if tracing is None else tracing.begin(record, headers)\n",
            "",
        ),
        ("traced or traceparent(", "traceparent("),
        (
            "            if record.span is not None:\n"
            "                record.marks = Marks(asked, self._clock(), grant.replica.config.engine)\n",
            "",
        ),
        ("            if record.marks is not None:\n                record.marks.sent = attempt.sent\n", ""),
    ),
    "telemetry/record.py": (
        ("    span: Any = None\n    marks: Marks | None = None\n", ""),
        (
            "        if record.span is not None and self.tracing is not None:\n"
            "            self.tracing.finish(record, now)\n",
            "",
        ),
        ("        if record.span is not None:\n            self._exemplify(record, where)\n", ""),
    ),
}


@contextmanager
def unhooked() -> Iterator[Path]:
    """A folder with such a copy of the package. Raises SetupError if a hook is not where it was."""
    with TemporaryDirectory(prefix="spillway-unhooked-") as name:
        folder = Path(name)
        shutil.copytree(ROOT / "gateway", folder / "gateway", ignore=shutil.ignore_patterns("__pycache__"))
        for module, cuts in _CUTS.items():
            path = folder / "gateway" / module
            text = path.read_text()
            for hook, instead in cuts:
                if text.count(hook) != 1:
                    raise SetupError(f"gateway/{module} has no such hook of tracing, mend bench/unhooked.py:\n{hook}")
                text = text.replace(hook, instead)
            path.write_text(text)
        yield folder


@contextmanager
def blocked() -> Iterator[Path]:
    """A folder that hides the packages of the extra `otel` from whoever has it on its path first.

    The API stays: FastAPI needs it.
    """
    with TemporaryDirectory(prefix="spillway-blocked-") as name:
        (Path(name) / "sitecustomize.py").write_text(_HIDING)
        yield Path(name)


def hooks_off() -> tuple[int, float]:
    """How many checks a request meets while its traces are off, and the seconds that all of them take together."""
    checks = (
        "tracing = telemetry.tracing",
        "traced = None if tracing is None else 1",
        "traced or None",
        "if record.span is not None: pass",
        "if record.marks is not None: pass",
        "if record.span is not None and telemetry.tracing is not None: pass",
        "if record.span is not None: pass",
    )
    telemetry = SimpleNamespace(tracing=None)
    record = Record(id="", path="", started=0.0)
    names = {"telemetry": telemetry, "record": record}
    body, empty = (
        min(repeat(code, globals=names, number=_TIMES, repeat=_REPEATS)) for code in ("\n".join(checks), "pass")
    )
    return len(checks), (body - empty) / _TIMES
