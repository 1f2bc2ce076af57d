"""Alerts on a real Prometheus over a real gateway: none while all is well, and each when its fault is provoked.

The two that would take too long here, SpillwayGatewayBusy and SpillwayDiscoveryStale, are left to test_rules.py.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.monitoring.alerts import RULES, quick
from tests.monitoring.prometheus import Prometheus, prometheus
from tests.monitoring.sglang import page
from tests.support.behaviours import AFTER_FIRST_BYTE, HELLO, Behaviour, answer, fail, stream
from tests.support.config import config
from tests.support.exchange import Gate
from tests.support.redis import RedisServer, redis_server
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread

NOT_HERE = {"SpillwayGatewayBusy", "SpillwayDiscoveryStale"}
PINNED = [{"x-spillway-pool": pool} for pool in ("speculative", "baseline")]


@dataclass
class Stage:
    """Everything that a fault may need."""

    site: Site
    prometheus: Prometheus
    redis: RedisServer
    client: httpx.AsyncClient

    async def ask(self, *headers: dict[str, str], stream: bool = True) -> None:
        """One request for each of these headers, one after the other; what comes of it does not matter."""
        for some in headers or ({},):
            with suppress(httpx.TransportError):
                await self.client.post(CHAT, json=chat(stream=stream), headers=some)

    def respond(self, speculative: Behaviour, baseline: Behaviour) -> None:
        self.site.speculative[0].respond = speculative
        self.site.baseline[0].respond = baseline


@pytest.fixture(scope="module")
def running(
    engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, Prometheus, RedisServer]]:
    """A gateway with two engines and Redis, and Prometheus with quick alerts."""
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server())
        policy = {"threshold": 2, "allow_pinning": True, "queue": {"size": 1, "timeout": 60}}
        here = stack.enter_context(
            site(
                engine_thread,
                settings=lambda fast, plain: config(
                    fake_model(fast, plain, {"max_inflight": 2}, policy=policy),
                    redis={"urls": [redis.url]},
                    limits={"first_byte_seconds": 60, "idle_seconds": 60},
                ),
            )
        )
        gateway = (f"127.0.0.1:{here.gateway.port}", {"namespace": "llm", "pod": "gateway-0"})
        labels = {"namespace": "llm", "spillway_model": "fake", "spillway_pool": "speculative"}
        here.speculative[0].metrics = page(3)
        targets = [gateway, (f"127.0.0.1:{here.speculative[0].port}", labels)]
        yield here, stack.enter_context(prometheus(tmp_path_factory.mktemp("alerts"), targets, quick())), redis


@pytest.fixture
async def stage(running: tuple[Site, Prometheus, RedisServer]) -> AsyncIterator[Stage]:
    """All is well at its begin: engines healthy, the speculative one faster."""
    here, server, redis = running
    async with here.client() as client:
        client.timeout = httpx.Timeout(60)  # longer than an alert is waited for: who holds a gateway full stays
        made = Stage(here, server, redis, client)
        for engine in here.engines:
            engine.forget()
        made.respond(answer(gap=0.01), answer(gap=0.02))
        yield made


@asynccontextmanager
async def repeated(work: Callable[[], Awaitable[None]], pause: float = 0.1) -> AsyncIterator[None]:
    """Does it again and again."""

    async def repeat() -> None:
        while True:
            await work()
            await asyncio.sleep(pause)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def fire(stage: Stage, *names: str) -> None:
    """Waits until all these have fired, at the same time or one after the other."""
    missing = {f"Spillway{name}" for name in names}

    def look() -> bool:
        missing.difference_update(stage.prometheus.firing())
        return not missing

    await asyncio.to_thread(stage.prometheus.until, look, lambda: f"did not fire: {missing}")


async def test_none_fires_while_all_is_well(stage: Stage) -> None:
    async with repeated(lambda: stage.ask(*PINNED, {})):
        for _ in range(16):
            await asyncio.sleep(0.5)
            assert await asyncio.to_thread(stage.prometheus.firing) == {}


async def test_a_full_gateway(stage: Stage) -> None:
    gate = Gate()
    stage.respond(answer(hold=gate), answer(hold=gate))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(stage.ask(stream=False))
        # Not before the queue is full: else the repeated request may be the one that waits in it, and none is refused.
        await stage.site.gateway.eventually(lambda: stage.site.gateway.status()["models"][0]["queued"], 30)
        async with repeated(lambda: stage.ask(stream=False)):
            await fire(stage, "SpeculativeAlwaysFull", "RequestsStuck", "Queueing", "QueueRejecting")
        gate.open()


async def test_engines_that_fail(stage: Stage) -> None:
    behaviours = [fail(500), AFTER_FIRST_BYTE["close after an event"], fail(503)]

    async def ask() -> None:
        for behaviour in behaviours:
            stage.respond(behaviour, behaviour)
            await stage.ask()

    async with repeated(ask):
        await fire(stage, "ErrorBudgetFast", "ErrorBudgetSlow", "ResponsesBroken", "Retrying")


async def test_slow_answers(stage: Stage) -> None:
    stage.respond(stream(HELLO, before_body=0.8), stream(HELLO, before_body=0.8))
    async with repeated(lambda: stage.ask(*PINNED)):
        await fire(stage, "TtftHigh")


async def test_speculation_that_costs(stage: Stage) -> None:
    stage.respond(answer(gap=0.05), answer(gap=0.01))
    stage.site.speculative[0].metrics = page(1)
    async with repeated(lambda: stage.ask(*PINNED)):
        await fire(stage, "SpeculationNotPaying", "AcceptLengthLow")


async def test_a_bad_configuration_and_no_redis(stage: Stage) -> None:
    good = stage.site.gateway.config_path.read_text()
    stage.redis.kill()
    stage.site.gateway.write_config("models: []")
    try:
        await fire(stage, "ConfigRefused", "RedisFallback")
    finally:
        stage.redis.start()
        stage.site.gateway.write_config(good)


async def test_pools_that_are_down(stage: Stage) -> None:
    stage.site.baseline[0].health = "unready"
    await fire(stage, "PoolDown")
    assert "SpillwayModelDown" not in stage.prometheus.firing()
    stage.site.speculative[0].health = "unready"
    await fire(stage, "ModelDown")


def test_every_alert_is_provoked_here_or_left_out_for_a_reason() -> None:
    source = Path(__file__).read_text()
    provoked = {rule["alert"] for rule in RULES if f'"{rule["alert"].removeprefix("Spillway")}"' in source}
    assert provoked | NOT_HERE == {rule["alert"] for rule in RULES}
