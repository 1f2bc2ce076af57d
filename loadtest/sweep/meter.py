"""How hard the generator itself works, and how late it is."""

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from loadtest.stats.cells import Generator
from loadtest.stats.numbers import quantiles

TICK_SECONDS = 0.02


class Meter:
    """Measures while its block runs. `seconds` and `generator` are there after it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._late: list[float] = []

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.create_task(self._tick())
        self._cpu, self._start = time.process_time(), time.perf_counter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._start
        self._cpu = time.process_time() - self._cpu
        self._ticking.cancel()
        with suppress(asyncio.CancelledError):
            await self._ticking

    @property
    def generator(self) -> Generator:
        """What it cost. CPU time is of the whole process, over wall time."""
        return Generator(self._cpu / self.seconds if self.seconds else 0.0, quantiles(self._late))

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self._late.append(max(0.0, time.perf_counter() - due))
