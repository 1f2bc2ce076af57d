"""Several real gateways in front of the same engines, with one Redis."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support import config as files
from tests.support.behaviours import answer
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.gateway import Gateway, gateway
from tests.support.site import fake_model, open_stream, placed
from tests.support.threads import EngineThread

# Short enough to wait for, and long enough for a busy machine.
QUICK = {"heartbeat_seconds": 0.3, "expiry_seconds": 1.5, "timeout_seconds": 0.3}


@dataclass
class Fleet:
    """Gateways, and requests held at their engines until `gate` opens."""

    gateways: list[Gateway]
    clients: list[httpx.AsyncClient]
    speculative: list[FakeEngine]
    baseline: list[FakeEngine]
    gate: Gate
    held: list[httpx.Response] = field(default_factory=list)

    @property
    def engines(self) -> list[FakeEngine]:
        return [*self.speculative, *self.baseline]

    async def hold(self, count: int, *at: int, **request: Any) -> list[tuple[str, str]]:
        """Starts so many streams, by these gateways in turn (all by default); returns their pools and reasons."""
        turns = itertools.cycle(at or range(len(self.gateways)))
        places = []
        for _, number in zip(range(count), turns, strict=False):
            response = await open_stream(self.clients[number], **request)
            assert response.status_code == 200, await response.aread()
            self.held.append(response)
            places.append(placed(response))
        return places

    async def end(self, pool: str, count: int = 1) -> None:
        """So many clients of that pool leave, once it has answered as many: one that waited may not have heard yet."""
        await self.eventually(lambda: self.holding(pool) >= count)
        for response in [each for each in self.held if placed(each)[0] == pool][:count]:
            self.held.remove(response)
            await response.aclose()

    def holding(self, pool: str) -> int:
        return sum(placed(response)[0] == pool for response in self.held)

    async def release(self) -> None:
        """All streams end in full."""
        self.gate.open()
        for response in self.held:
            await response.aread()
            await response.aclose()
        self.held.clear()

    async def eventually(self, holds: Callable[[], object], seconds: float = 10.0) -> None:
        await self.gateways[-1].eventually(holds, seconds, lambda: [each.status() for each in self.gateways])

    async def queued(self, number: int, count: int) -> None:
        """So many requests wait at this gateway."""
        await self.eventually(lambda: self.gateways[number].status()["models"][0]["queued"] == count)

    async def joined(self, *numbers: int, gateways: int | None = None) -> None:
        """These gateways (all by default) decide through Redis and know of each other."""
        chosen = [self.gateways[number] for number in numbers] or self.gateways
        wanted = gateways or len(chosen)
        await self.eventually(lambda: all(_together(each.status(), wanted) for each in chosen))

    async def alone(self, *numbers: int) -> None:
        """These gateways (all by default) decide by themselves."""
        chosen = [self.gateways[number] for number in numbers] or self.gateways
        await self.eventually(lambda: all(each.status()["models"][0]["source"] == "local" for each in chosen))

    async def failing(self, *reasons: str) -> None:
        """All gateways decide by themselves, and say one of these reasons."""
        await self.alone()
        await self.eventually(lambda: all(_failing(each.status()["redis"]["error"], reasons) for each in self.gateways))

    async def counts_are_right(self, *numbers: int) -> None:
        """Each gateway's view of all in-flight requests is that of the clients."""
        chosen = [self.gateways[number] for number in numbers] or self.gateways
        wanted = {role: self.holding(role) for role in ("speculative", "baseline")}
        await self.eventually(lambda: all(_inflight(each) == wanted for each in chosen))


def _together(status: dict[str, Any], gateways: int) -> bool:
    models = status["models"]
    return all(each["source"] == "redis" and each["gateways"] == gateways for each in models) and _up(status)


def _failing(error: str | None, reasons: tuple[str, ...]) -> bool:
    return error is not None and any(reason in error for reason in reasons)


def _up(status: dict[str, Any]) -> bool:
    return bool(status["redis"]["state"] == "up")


def _inflight(each: Gateway) -> dict[str, int]:
    return {role: pool["inflight"] for role, pool in each.status()["models"][0]["pools"].items()}


@asynccontextmanager
async def fleet(
    thread: EngineThread,
    redis: files.Settings,
    gateways: int = 2,
    speculative: int = 1,
    baseline: int = 1,
    *,
    pool: files.Settings | None = None,
    **settings: Any,
) -> AsyncIterator[Fleet]:
    """So many gateways of one file, each started and its engines ready; `settings` are the model's."""
    async with AsyncExitStack() as stack:
        first = stack.enter_context(thread.engines(speculative))
        second = stack.enter_context(thread.engines(baseline))
        gate = Gate()
        for engine in (*first, *second):
            engine.respond = answer(hold=gate)
        model = fake_model(first, second, pool, **settings)
        patient = {"idle_seconds": 60, "first_byte_seconds": 60, "client_stall_seconds": 60}
        made = files.config(model, limits=patient, redis={**QUICK, **redis})
        started = [stack.enter_context(gateway(made, None)) for _ in range(gateways)]
        for each in started:
            await asyncio.to_thread(each.wait_up, "/ready")
        limits = httpx.Limits(max_connections=None)
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=each.base_url, timeout=30.0, trust_env=False, limits=limits)
            )
            for each in started
        ]
        running = Fleet(started, clients, first, second, gate)
        try:
            yield running
        finally:
            gate.open()
            for response in running.held:
                await response.aclose()
