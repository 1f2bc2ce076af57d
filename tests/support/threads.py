"""Fake engines in a thread of their own, for fixtures that outlive one test's loop."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.support.engine import FakeEngine

T = TypeVar("T")


class EngineThread:
    """A loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-engines", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def engines(self, count: int = 1) -> Iterator[list[FakeEngine]]:
        """So many engines, started on this loop and stopped at the end."""
        started = [FakeEngine() for _ in range(count)]
        for engine in started:
            self.call(engine.start())
        try:
            yield started
        finally:
            for engine in started:
                self.call(engine.stop())

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on this thread's loop and waits for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)
