"""Running a request's coroutine without an asyncio task."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any


class Driver:
    """Steps a coroutine from the event loop's next turn on, and is in `running` until it has ended.

    To be awaited and cancelled like a task, and cheaper. In return the coroutine may use neither `asyncio.current_task`
    nor what builds on it (`asyncio.timeout`): it has a task made for that.

    Steps are taken by the loop, not by whoever wakes: requests that do the same in one turn find caches warm, which
    saves more than a turn costs. What is awaited may call back at once instead. Follows the protocol between asyncio's
    Task and Future (`_asyncio_future_blocking`).
    """

    __slots__ = ("_before", "_cancelled", "_coroutine", "_ended", "_running", "_waits_for")

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, None],
        running: set[Any],
        loop: asyncio.AbstractEventLoop,
        before: Callable[[], None] | None = None,
    ) -> None:
        """The coroutine raises nothing. `before` is called before each step: it may have others go on."""
        self._coroutine = coroutine
        self._before = before
        self._running = running
        self._cancelled = False
        self._waits_for: asyncio.Future[Any] | None = None
        self._ended: asyncio.Future[None] | None = None
        running.add(self)
        loop.call_soon(self._step)

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until it has ended."""
        if self in self._running:
            self._ended = self._ended or asyncio.get_running_loop().create_future()
            yield from self._ended

    def cancel(self, **_: object) -> None:
        """Have CancelledError raised where the coroutine waits. A task's `msg` is ignored."""
        if self._waits_for is None or not self._waits_for.cancel():
            self._cancelled = True

    def _step(self, _: object = None) -> None:
        if self._before is not None:
            self._before()
        self._waits_for = None
        try:
            if self._cancelled:
                self._cancelled = False
                waited = self._coroutine.throw(asyncio.CancelledError())
            else:
                waited = self._coroutine.send(None)
        except (StopIteration, asyncio.CancelledError):
            self._end()
        except BaseException:
            self._end()
            raise
        else:
            self._wait_for(waited)

    def _end(self) -> None:
        self._running.discard(self)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def _wait_for(self, waited: Any) -> None:
        if waited is None:
            asyncio.get_running_loop().call_soon(self._step)
            return
        waited._asyncio_future_blocking = False
        waited.add_done_callback(self._step)
        self._waits_for = waited
