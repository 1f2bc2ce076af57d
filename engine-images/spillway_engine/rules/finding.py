"""One thing that is wrong with a launch."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Whether the engine is started in spite of it."""

    REFUSE = "refuse"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding. Its name is what `--allow` takes."""

    level: Level
    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.name}: {self.message}"


def refuse(name: str, message: str) -> Finding:
    """A finding that keeps the engine from being started."""
    return Finding(Level.REFUSE, name, message)


def warn(name: str, message: str) -> Finding:
    """A finding that is told."""
    return Finding(Level.WARN, name, message)
