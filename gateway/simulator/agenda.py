"""Simulated time: what happens next, in order of time and then of entry."""

from collections.abc import Callable
from heapq import heappop, heappush


class Agenda:
    """A clock that jumps from event to event. `now` is in simulated seconds."""

    __slots__ = ("_entries", "_number", "now", "stopped")

    def __init__(self) -> None:
        self.now = 0.0
        self.stopped = False
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Call `act` at this time, which is not in the past."""
        self._number += 1
        heappush(self._entries, (time, self._number, act))

    def run(self, until: float = float("inf")) -> None:
        """Let time pass until `until`, until nothing is left to happen, or until `stopped` is set."""
        entries = self._entries
        while entries and not self.stopped:
            if entries[0][0] > until:
                self.now = until
                return
            self.now, _, act = heappop(entries)
            act()
