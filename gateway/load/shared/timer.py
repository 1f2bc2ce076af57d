"""A timer that can be set again and again."""

import asyncio
from collections.abc import Callable


class Timer:
    """Calls `action` once after each `start`, unless stopped. `running`: it will."""

    __slots__ = ("_action", "_handle", "_loop", "running")

    def __init__(self, loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
        """Not running yet."""
        self._loop = loop
        self._action = action
        self._handle: asyncio.TimerHandle | None = None
        self.running = False

    def start(self, seconds: float) -> None:
        """Ring after so many seconds, unless it runs already."""
        if not self.running:
            self.running = True
            self._handle = self._loop.call_later(seconds, self._ring)

    def stop(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self.running = False

    def _ring(self) -> None:
        self._handle = None
        self.running = False
        self._action()
