"""The steps that are on their way to Redis and back."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from gateway.load.shared.parties import Ask
from gateway.load.shared.timer import Timer

# A turn of the event loop can take several milliseconds. Replies are looked for in the midst of it once the oldest step
# has been on its way for so long (seconds), and so often.
_LOOK_SECONDS = 0.0002


class Sent(NamedTuple):
    """A step as it was sent, at a monotonic time, on behalf of those who ask in it."""

    at: float
    asks: Sequence[Ask]
    packed: bytes


class Flight:
    """`steps`, oldest first. Replies come in that order."""

    def __init__(self, loop: asyncio.AbstractEventLoop, patience: float, on_overdue: Callable[[], None]) -> None:
        """`on_overdue` is called when the oldest step has had no reply for so many seconds."""
        self.steps: deque[Sent] = deque()
        self._patience = patience
        self._on_overdue = on_overdue
        self._overdue = Timer(loop, self._check)
        self._waited_on = False
        self._looked = 0.0

    def add(self, asks: Sequence[Ask], packed: bytes) -> None:
        """It is sent now."""
        self.steps.append(Sent(monotonic(), asks, packed))
        if not self._overdue.running:
            self._overdue.start(self._patience)

    def landed(self) -> Sent:
        """The oldest has its reply."""
        self._waited_on = False
        return self.steps.popleft()

    def again(self) -> bytes:
        """The oldest was refused, and is sent once more."""
        step = self.steps.popleft()
        self.steps.append(step)
        return step.packed

    def due(self) -> float:
        """Whether it is time to look for replies: for how long (seconds) the oldest step has been on its way, or 0."""
        if not self.steps:
            return 0.0
        now = monotonic()
        age = now - self.steps[0].at
        if age < _LOOK_SECONDS or now - self._looked < _LOOK_SECONDS:
            return 0.0
        self._looked = now
        return age

    def disown(self) -> list[Ask]:
        """Nobody waits for the replies any longer; returns who did."""
        asks = [ask for step in self.steps for ask in step.asks]
        for at, step in enumerate(self.steps):
            self.steps[at] = step._replace(asks=())
        return asks

    def stop(self) -> None:
        """No reply comes any more."""
        self._waited_on = False
        self._overdue.stop()

    def _check(self) -> None:
        if not self.steps:
            return
        left = self.steps[0].at + self._patience - monotonic()
        if left > 0:
            self._overdue.start(left)
        elif not self._waited_on:
            # If the event loop was held up, or the whole process, the reply may be here and unread.
            self._waited_on = True
            self._overdue.start(self._patience / 4)
        else:
            self._on_overdue()
