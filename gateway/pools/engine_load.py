"""From what an engine says it holds to what it holds from elsewhere. Holds no clock and does no I/O."""

from gateway.engines import Reading


class EngineLoad:
    """One engine's own count, beside ours.

    Our requests come and go between the engine's counting and our reading of it: one that has just ended may still be
    counted there. So a reading is compared with the most that we had on the replica since the reading before was
    begun; and of two readings in a row the lesser excess counts, which leaves out what passes, such as probes that
    generate a token. Together they never take ours for others', as long as the engine's count is not older than two
    pauses between readings.
    """

    __slots__ = ("_earlier", "_excess", "_peak", "_progress", "count", "error", "read_at")

    def __init__(self) -> None:
        """Nothing read yet."""
        # What the engine said last, when it was asked (monotonic seconds), and why it says nothing now.
        self.count: int | None = None
        self.read_at: float | None = None
        self.error: str | None = None
        self._earlier = self._peak = self._excess = 0
        self._progress: float | None = None

    @property
    def most(self) -> int:
        """The most that we had on it since the reading before this one was begun."""
        return max(self._earlier, self._peak)

    def begin(self, ours: int) -> None:
        """The engine is asked now; `ours` counts what we have on it."""
        self._earlier, self._peak = self._peak, ours

    def saw(self, ours: int) -> None:
        """We have, or had until now, so many on it."""
        if ours > self._peak:
            self._peak = ours

    def finish(self, reading: Reading, ours: int, asked_at: float) -> int:
        """The engine has answered; returns how many requests it holds from elsewhere."""
        self.saw(ours)
        stands_still = reading.progress is not None and reading.progress == self._progress
        excess = 0 if stands_still else max(0, reading.requests - self.most)
        lesser, self._excess = min(excess, self._excess), excess
        self.count, self.read_at, self.error, self._progress = reading.requests, asked_at, None, reading.progress
        return lesser

    def forget(self) -> None:
        """What was read is too old to go by."""
        self.count = self._progress = None
        self._excess = 0
