"""Carries a plan out."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from loadtest.client import Ask, AsyncClient, Sample, Target, parse_target
from loadtest.records.model import Look
from loadtest.stats import Cell, summarise
from loadtest.sweep.arms import Arm
from loadtest.sweep.meter import Meter
from loadtest.sweep.plan import Plan
from loadtest.sweep.status import Status, StatusClient

Say = Callable[[str], None]


class SweepError(RuntimeError):
    """A sweep that can't go on; the message says why and what to do."""


class Sweep:
    """One sweep. `cells` and `looks` grow while it runs, so that one that is interrupted still has what it measured."""

    def __init__(
        self, plan: Plan, target: Target, model: str, *, status: StatusClient, timeout: float, say: Say
    ) -> None:
        """`target`: where every arm goes that has no URL of its own. `timeout`: seconds a request may take."""
        self.plan = plan
        self.cells: list[Cell] = []
        self.looks: list[Look] = []
        self._target = target
        self._model = model
        self._status = status
        self._timeout = timeout
        self._say = say
        self._number = itertools.count()
        self._now: tuple[str, int, int] | None = None

    async def run(self, done: Callable[[Cell, int], None]) -> None:
        """Runs every cell, and tells `done` of each with how many there were so far. Raises SweepError."""
        self.began = time.perf_counter()
        async with AsyncExitStack() as stack:
            clients = {arm.name: await stack.enter_async_context(self._client(arm)) for arm in self.plan.arms}
            await stack.enter_async_context(self._status.watching(self._note))
            for arm in self.plan.arms:
                self._say(f"warming up {arm.name}: {self.plan.warmup} requests")
                self._check(arm, await self._warm_up(clients[arm.name], arm))
            warmed: set[tuple[str, int]] = set()
            for repeat, level, arm in self.plan.cells():
                if self.plan.warm_levels and (arm.name, level) not in warmed:
                    warmed.add((arm.name, level))
                    asks = self._asks(arm, f"warm-{level}", tokens=self.plan.warm_tokens)
                    await _closed_loop(clients[arm.name], itertools.islice(asks, level), level)
                await self._settle()
                self.cells.append(await self._cell(clients[arm.name], arm, level, repeat))
                done(self.cells[-1], len(self.cells))

    def _client(self, arm: Arm) -> AsyncClient:
        target = self._target
        if arm.url:
            target = parse_target(arm.url, target.headers, verify=target.verify, ca_file=target.ca_file)
        return AsyncClient(replace(target, headers={**target.headers, **arm.headers}), timeout=self._timeout)

    async def _cell(self, client: AsyncClient, arm: Arm, level: int, repeat: int) -> Cell:
        asks = itertools.islice(self._asks(arm, f"{level}-{repeat}"), self.plan.count(level))
        began = time.perf_counter() - self.began
        self._now = (arm.name, level, repeat)
        try:
            async with Meter() as meter:
                samples = await _closed_loop(client, asks, level)
        finally:
            self._now = None
        return summarise(
            samples,
            arm=arm.name,
            level=level,
            repeat=repeat,
            began=began,
            seconds=meter.seconds,
            generator=meter.generator,
        )

    def _asks(self, arm: Arm, place: str, *, tokens: int = 0) -> Iterator[Ask]:
        """Requests of a cell: of the same prompts for every arm, which the same seed draws again."""
        for prompt in self.plan.mix.draw(f"{self.plan.seed} {place}"):
            text = prompt.text
            if self.plan.unique:
                text = f"Task {next(self._number)}-{arm.name}.\n\n{text}"
            yield Ask(
                {
                    "model": arm.model or self._model,
                    "messages": [{"role": "user", "content": text}],
                    "max_tokens": tokens or self.plan.max_tokens,
                    "temperature": 0,
                    **self.plan.body,
                }
            )

    async def _warm_up(self, client: AsyncClient, arm: Arm) -> list[Sample]:
        asks = itertools.islice(self._asks(arm, "warm-up"), self.plan.warmup)
        return await _closed_loop(client, asks, self.plan.warmup)

    def _check(self, arm: Arm, samples: Sequence[Sample]) -> None:
        good = [sample for sample in samples if sample.ok]
        if not good:
            first = samples[0]
            raise SweepError(f"no request of the arm {arm.name} succeeded: {first.outcome}: {first.detail}")
        strays = {sample.pool for sample in good} - {arm.pool}
        if arm.pool and strays:
            there = ", ".join(sorted(stray or "no pool" for stray in strays))
            raise SweepError(
                f"requests of the arm {arm.name} were answered by {there}: set policy.allow_pinning to true in the "
                f"gateway's file, or give the arm a URL (--arm {arm.name}=http://...)"
            )

    async def _settle(self) -> None:
        await self._status.idle()
        await asyncio.sleep(self.plan.settle)

    def _note(self, now: float, status: Status) -> None:
        arm, level, repeat = self._now or ("", 0, 0)
        inflight = {name: pool.inflight for name, pool in status.pools.items()}
        limits = {name: pool.limit for name, pool in status.pools.items() if pool.limit is not None}
        self.looks.append(Look(now - self.began, arm, level, repeat, inflight, limits))


async def _closed_loop(client: AsyncClient, asks: Iterator[Ask], concurrency: int) -> list[Sample]:
    """Sends them all, so many at once: who has an answer sends the next."""

    async def one_user() -> list[Sample]:
        return [await client.ask(ask) for ask in asks]

    found = await asyncio.gather(*(one_user() for _ in range(concurrency)))
    return [sample for some in found for sample in some]
