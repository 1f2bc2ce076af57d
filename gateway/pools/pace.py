"""How often a gateway probes, all its replicas together: a probe costs a millisecond, and thousands may be due."""

from collections.abc import Callable

_FIRST_PER_SECOND = 150.0
_FURTHER_PER_SECOND = 100.0


class Pace:
    """Gives turns in order of asking. First probes have turns of their own: a newcomer waits for newcomers only.

    Up to 200 replicas at an interval of 2 s nobody waits. 5,000 are probed every 50 s; one whose requests fail is
    probed at once all the same.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._first_at = self._further_at = 0.0

    def first(self) -> float:
        """Seconds until the turn of a replica's first probe."""
        now = self._clock()
        at = max(now, self._first_at)
        self._first_at = at + 1 / _FIRST_PER_SECOND
        return at - now

    def further(self) -> float:
        """Seconds until the turn of a further probe."""
        now = self._clock()
        at = max(now, self._further_at)
        self._further_at = at + 1 / _FURTHER_PER_SECOND
        return at - now
