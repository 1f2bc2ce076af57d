"""What results.json holds."""

from typing import Any

import msgspec

from loadtest.stats import Cell, Verdict

VERSION = 1
SWEEP, LOCUST = "sweep", "locust"


class ArmInfo(msgspec.Struct, frozen=True):
    """An arm, and how its requests were told apart."""

    name: str
    how: str


class Look(msgspec.Struct, frozen=True):
    """What /status said at `at` seconds after the run's beginning, during a cell or (arm empty) between two."""

    at: float
    arm: str
    level: int
    repeat: int
    inflight: dict[str, int]
    limits: dict[str, int]


class Results(msgspec.Struct):
    """A whole run. `complete` is false for one that was interrupted; `policy` is what /status said at its beginning.

    A run of the kind `locust` has no arms: its cells are all requests together, then those of each name.
    """

    created: str
    url: str
    model: str
    plan: dict[str, Any]
    arms: list[ArmInfo]
    cells: list[Cell]
    looks: list[Look]
    verdict: Verdict
    policy: dict[str, Any] = {}
    replicas: dict[str, int] = {}
    machine: str = ""
    note: str = ""
    complete: bool = True
    kind: str = SWEEP
    version: int = VERSION
