"""The policies that are compared: the gateway's own functions, with the state that it keeps for them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from gateway.routing import ModelLoad, Placement, Role, SwitchSettings, SwitchState, arrive, pin, settle, spill, switch
from gateway.simulator.engine import Job


class Prompts(Protocol):
    """What a pool tells of the prompts in it."""

    @property
    def waiting(self) -> float:
        """Tokens of prompts without a first token, per replica."""
        ...


class Arm(ABC):
    """A policy in the simulator. `changes` counts how often it has turned all new requests to another pool."""

    watches = False
    """Whether it wants to be told of every change of the load, by `settled`."""
    learns = False
    """Whether it wants to be told of every request that is done, by `ended`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.changes = 0

    @property
    def mode(self) -> str:
        """Where the policy stands, for one that has such a thing: for a timeline."""
        return ""

    def meet(self, _pools: Mapping[Role, Prompts], /) -> None:
        """Learn of the pools before the first request."""
        return

    @abstractmethod
    def place(self, load: ModelLoad, job: Job, now: float, /) -> Placement:
        """Choose a pool for a newcomer, which `load` does not count."""

    def settled(self, _load: ModelLoad, _now: float, /) -> None:
        """The load has changed."""
        return

    def ended(self, _job: Job, /) -> None:
        """A request is done."""
        return


class Pinned(Arm):
    """`pinned`: one pool for everything."""

    def __init__(self, role: Role) -> None:
        super().__init__(f"pinned:{role}")
        self._role: Role = role

    def place(self, load: ModelLoad, _job: Job, _now: float, /) -> Placement:
        return pin(load, self._role)


class Spill(Arm):
    """`threshold` in mode `spill`."""

    def __init__(self, threshold: int) -> None:
        super().__init__(f"spill:{threshold}")
        self._threshold = threshold

    def place(self, load: ModelLoad, _job: Job, _now: float, /) -> Placement:
        return spill(load, self._threshold)


class Switch(Arm):
    """`threshold` in mode `switch`."""

    watches = True

    def __init__(self, threshold: int, resume_below: float = 0.6, min_dwell: float = 2.0) -> None:
        super().__init__(f"switch:{threshold}")
        self._settings = SwitchSettings(threshold, resume_below, min_dwell)
        self._state = SwitchState()

    @property
    def mode(self) -> str:
        return "baseline" if self._state.high else "speculative"

    def place(self, load: ModelLoad, _job: Job, now: float, /) -> Placement:
        self._take(arrive(self._state, load, self._settings, now))
        return switch(load, self._state)

    def settled(self, load: ModelLoad, now: float, /) -> None:
        if self._state.high:
            self._take(settle(self._state, load, self._settings, now))

    def _take(self, state: SwitchState) -> None:
        self.changes += state.high != self._state.high
        self._state = state
