"""What the pinned SGLang made of every launch line when it was last asked: `resolved.json`."""

import difflib
import json
from pathlib import Path
from typing import Any

from tests.sglang.cases import FOLDER, cases
from tests.sglang.facts import FACTS

RECORD = FOLDER / "resolved.json"


def questions() -> list[dict[str, Any]]:
    """What SGLang is asked, as `runtime/resolve.py` reads it."""
    lines = [_question(case.name, case.architecture, case.arguments()) for case in cases()]
    return lines + [_question(name, where, list(arguments)) for name, (where, arguments) in FACTS.items()]


def _question(name: str, architecture: str, arguments: list[str]) -> dict[str, Any]:
    return {"name": name, "architecture": architecture, "arguments": arguments}


def load() -> dict[str, Any]:
    """The record: the version, and for each case its arguments and what `runtime/resolve.py` said of them."""
    content = json.loads(RECORD.read_text())
    assert isinstance(content, dict)
    return content


def portable(value: Any) -> Any:
    """The same on every machine: the models' folder is called models."""
    return json.loads(json.dumps(value).replace(str(FOLDER / "models"), "models").replace(_profiles(), "profiles"))


def _profiles() -> str:
    from spillway_engine.profile import PROFILES

    return str(PROFILES)


def write(version: str, answers: dict[str, Any], path: Path = RECORD) -> None:
    """Write a record anew."""
    found = {it["name"]: {"arguments": it["arguments"], **answers[it["name"]]} for it in questions()}
    path.write_text(json.dumps({"version": version, "cases": portable(found)}, indent=1) + "\n")


def difference(expected: Any, found: Any) -> str:
    """What changed, as a diff of lines; empty if nothing."""
    before, after = (json.dumps(it, indent=1, sort_keys=True).splitlines() for it in (expected, found))
    return "\n".join(difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=1))
