"""What is wrong with a configuration, said so that it can be put right."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Loc = tuple[str | int, ...]

_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]*")


def dotted(loc: Loc) -> str:
    """Writes a place as `models[0].policy.threshold`."""
    parts: list[str] = []
    for step in loc:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_NAME.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{step!r}]")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to put right; `line` and `column` count from 1, `variable` is the environment variable to blame."""

    reason: str
    field: str = ""
    file: Path | None = None
    line: int | None = None
    column: int | None = None
    variable: str | None = None

    def __str__(self) -> str:
        if self.variable is not None:
            place = f"environment variable {self.variable}"
        else:
            place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = ": ".join(part for part in (place, self.field, self.reason) if part)
        return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


class ConfigError(Exception):
    """A configuration that cannot be used, with every problem found in it.

    `sources` are the files that were read, or could not be: a change in one of them is a reason to try again.
    """

    def __init__(self, problems: Sequence[Problem], sources: Sequence["Source"] = ()) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
        self.sources = tuple(sources)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a configuration was made from, and the SHA-256 of its bytes, None if it cannot be read."""

    path: Path
    digest: str | None
