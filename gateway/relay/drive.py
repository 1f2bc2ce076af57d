"""Running a coroutine without a task of its own.

A relayed event calls the server's `send`, which nearly always finishes without waiting; a task, or waking one, would
cost more than the call. So the coroutine runs in the caller's stack, and the event loop carries it on only if it waits.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], on_done: Callable[[], None]) -> "T | Driven[T]":
    """Run a coroutine to its end and return its value if it does not wait; else carry it on and return its state."""
    try:
        waited = coroutine.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    return Driven(coroutine, waited, on_done)


class Driven(Generic[T]):
    """A coroutine carried on by callbacks of what it waits for.

    For coroutines that await asyncio futures and use neither `asyncio.current_task` nor timeouts, as uvicorn's `send`
    and `receive` do. Follows the protocol between asyncio's Task and Future (`_asyncio_future_blocking`, PEP 3156).
    """

    __slots__ = ("_closed", "_coroutine", "_on_done", "done", "error", "value")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waited: Any, on_done: Callable[[], None]) -> None:
        """Use `run`. `waited` is what the coroutine waits for; `on_done` runs when it has ended."""
        self._coroutine = coroutine
        self._on_done = on_done
        self._closed = False
        self.done = False
        self.value: T | None = None
        self.error: BaseException | None = None
        self._wait_for(waited)

    def close(self) -> None:
        """Give it up where it waits. `on_done` will not run."""
        if not self._closed:
            self._closed = True
            self._coroutine.close()

    def _step(self, _: object = None) -> None:
        if self._closed:
            return
        try:
            waited = self._coroutine.send(None)
        except StopIteration as stop:
            self.value = stop.value
        except BaseException as error:
            self.error = error
        else:
            self._wait_for(waited)
            return
        self.done = self._closed = True
        self._on_done()

    def _wait_for(self, waited: Any) -> None:
        if waited is None:
            asyncio.get_running_loop().call_soon(self._step)
        else:
            waited._asyncio_future_blocking = False
            waited.add_done_callback(self._step)


class Waker:
    """Lets callbacks wake the one coroutine that waits. A wake while nobody waits is kept."""

    __slots__ = ("_future", "_loop", "_prompt", "_woken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start asleep."""
        self._loop = loop
        self._future: asyncio.Future[None] | None = None
        self._prompt: Prompt | None = None
        self._woken = False

    def wake(self) -> None:
        """Let `wait` return."""
        future = self._future
        if future is not None:
            if not future.done():
                future.set_result(None)
        elif self._prompt is not None:
            self._prompt.wake()
        else:
            self._woken = True

    def resume(self) -> None:
        """`wake`, but one that waits in `prompted` goes on within this call: to be called with nothing under way."""
        prompt = self._prompt
        if prompt is None:
            self.wake()
        else:
            prompt.go_on()

    async def prompted(self) -> None:
        """`wait`, for one that `resume` may wake."""
        if self._woken:
            self._woken = False
            return
        self._prompt = Prompt(self._loop)
        try:
            await self._prompt
        finally:
            self._prompt = None

    async def wait(self) -> None:
        """Return once `wake` has been called since the last return."""
        if self._woken:
            self._woken = False
            return
        self._future = self._loop.create_future()
        try:
            await self._future
        finally:
            self._future = None


class Prompt:
    """Can be awaited once, by one. Follows the protocol between asyncio's Task and Future as far as `Driver` does."""

    __slots__ = ("_asyncio_future_blocking", "_cancelled", "_done", "_go_on", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Not done yet."""
        self._asyncio_future_blocking = False
        self._loop = loop
        self._go_on: Callable[[object], object] | None = None
        self._done = self._cancelled = False

    def __await__(self) -> Generator["Prompt", None, None]:
        """Wait for it."""
        self._asyncio_future_blocking = True
        yield self
        if self._cancelled:
            raise asyncio.CancelledError

    def add_done_callback(self, go_on: Callable[[object], object]) -> None:
        """See asyncio.Future."""
        self._go_on = go_on

    def cancel(self) -> bool:
        """See asyncio.Future."""
        if self._done:
            return False
        self._cancelled = True
        self.wake()
        return True

    def wake(self) -> None:
        """Have the loop carry on who waits."""
        if not self._done and self._go_on is not None:
            self._done = True
            self._loop.call_soon(self._go_on, self)

    def go_on(self) -> None:
        """Carry on who waits, in this call."""
        if not self._done and self._go_on is not None:
            self._done = True
            self._go_on(self)


class Alarm:
    """Wakes somebody once after some seconds. `rung` says that it did: clocks may differ in the last millisecond."""

    __slots__ = ("_timer", "_wake", "rung")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, wake: Callable[[], None]) -> None:
        """Set it."""
        self.rung = False
        self._wake = wake
        self._timer = loop.call_later(max(seconds, 0.0), self._ring)

    def cancel(self) -> None:
        """It is no longer needed."""
        self._timer.cancel()

    def _ring(self) -> None:
        self.rung = True
        self._wake()
