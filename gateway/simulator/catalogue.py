"""The curve sets of the package, and files of the same form as `curves/*.yaml`: one set for each arm in it."""

from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.simulator.curves import CurveError, Measured, model
from gateway.simulator.engine import EngineModel
from gateway.simulator.sharing import Sharing

MOST = 1024
"""Requests in one replica that a curve set has rates for; beyond, the last total is shared."""

Level = Annotated[int, Field(ge=1, le=MOST)]
Rate = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Totals = Annotated[dict[Level, Rate], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Requests(_Strict):
    """What the figures were measured with: tokens of a prompt and of an answer."""

    prompt: Annotated[int, Field(ge=0)]
    output: Annotated[int, Field(ge=2)]


class Prefill(_Strict):
    """How prompts are processed: `EngineModel` has the terms."""

    seconds: Annotated[float, Field(ge=0.0)] = 0.0
    tokens_per_second: Rate
    stall: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    lag: Annotated[float, Field(ge=0.0)] = 0.0
    lag_alone: Annotated[float, Field(ge=0.0)] | None = None


class Engine(_Strict):
    """One engine's figures: total tokens per second by requests at once."""

    total: Totals
    prefill: Prefill


class Drafting(Engine):
    """An engine that drafts; `baseline` where this arm's traffic had a baseline of its own."""

    accept_length: Annotated[float, Field(ge=1.0)]
    baseline: Totals | None = None


class Document(_Strict):
    """One file."""

    source: Annotated[str, Field(min_length=1)]
    requests: Requests
    shared: Sharing = "own"
    baseline: Engine
    speculative: Annotated[dict[str, Drafting], Field(min_length=1)]


class CurveSet(NamedTuple):
    """Two engines to compare. `levels` are those at which the one that drafts was measured."""

    name: str
    source: str
    speculative: EngineModel
    baseline: EngineModel
    prompt: int
    output: int
    shared: Sharing
    measured: Mapping[str, Measured]

    @property
    def levels(self) -> tuple[int, ...]:
        """Concurrencies at which either was measured."""
        return tuple(sorted({level for figures in self.measured.values() for level in figures.totals}))


class CatalogueError(ValueError):
    """No such curve set, or a file that is none. The message says what to do."""


def shipped() -> dict[str, CurveSet]:
    """Every curve set of the package by name."""
    files = resources.files("gateway.simulator") / "curves"
    found: dict[str, CurveSet] = {}
    for file in sorted(files.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".yaml"):
            found.update(read(file.name.removesuffix(".yaml"), file.read_text(encoding="utf-8")))
    return found


def find(name: str) -> CurveSet:
    """A set by name, or from a file by `FILE.yaml` or `FILE.yaml:ARM`.

    Raises:
        CatalogueError: there is none.
    """
    path, _, arm = name.partition(":")
    if not path.endswith((".yaml", ".yml")):
        known = shipped()
        if name not in known:
            raise CatalogueError(f"no curve set is called {name}: {', '.join(known)}, or name a YAML file")
        return known[name]
    file = Path(path)
    try:
        sets = read(file.stem, file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from error
    if not arm and len(sets) == 1:
        return next(iter(sets.values()))
    wanted = f"{file.stem}-{arm}"
    if wanted not in sets:
        arms = ", ".join(known.removeprefix(f"{file.stem}-") for known in sets)
        raise CatalogueError(f"{path} has the arms {arms}: name one, as {path}:ARM")
    return sets[wanted]


def read(stem: str, text: str) -> dict[str, CurveSet]:
    """The sets of one file's text, named `stem-arm`.

    Raises:
        CatalogueError: it does not have the form of `Document`, or no engine can have these figures.
    """
    try:
        document = Document.model_validate(yaml.safe_load(text))
        return dict(_sets(stem, document))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CatalogueError(f"{stem}.yaml: {where}: {first['msg']}") from error
    except (yaml.YAMLError, CurveError) as error:
        raise CatalogueError(f"{stem}.yaml: {error}") from error


def _sets(stem: str, document: Document) -> Iterator[tuple[str, CurveSet]]:
    for arm, drafting in document.speculative.items():
        name = f"{stem}-{arm}"
        measured = {
            "speculative": _measured(document, drafting.total, drafting.prefill, drafting.accept_length),
            "baseline": _measured(document, drafting.baseline or document.baseline.total, document.baseline.prefill),
        }
        yield (
            name,
            CurveSet(
                name,
                " ".join(document.source.split()),
                model(measured["speculative"], MOST),
                model(measured["baseline"], MOST),
                document.requests.prompt,
                document.requests.output,
                document.shared,
                measured,
            ),
        )


def _measured(
    document: Document, totals: Mapping[int, float], prefill: Prefill, accept_length: float | None = None
) -> Measured:
    requests = document.requests
    return Measured(
        totals,
        requests.prompt,
        requests.output,
        prefill.seconds,
        prefill.tokens_per_second,
        prefill.stall,
        accept_length,
        prefill.lag,
        prefill.lag_alone,
    )
