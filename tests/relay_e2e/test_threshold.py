"""The boundary over sockets: at threshold - 1, threshold and threshold + 1, while replicas come and go."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.support.behaviours import answer
from tests.support.config import config
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.site import CHAT, Site, chat, fake_model, open_stream, placed, site
from tests.support.threads import EngineThread

THRESHOLD = 3


@asynccontextmanager
async def serving(
    thread: EngineThread, speculative: int = 1, baseline: int = 1, pool: Any = None, **policy: Any
) -> AsyncIterator[tuple[Site, httpx.AsyncClient, Gate]]:
    """A site whose streams stay open until the gate is opened, as it is in any case at the end."""
    gate = Gate()

    def settings(fast: list[FakeEngine], plain: list[FakeEngine]) -> Any:
        return config(
            fake_model(fast, plain, pool=pool, policy={"threshold": THRESHOLD, **policy}), limits={"idle_seconds": 30}
        )

    with site(thread, speculative, baseline, settings) as here:
        here.respond(answer(hold=gate))
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(here.client())
            try:
                yield here, client, gate
            finally:
                gate.open()


async def hold(client: httpx.AsyncClient, count: int) -> list[httpx.Response]:
    return [await open_stream(client) for _ in range(count)]


def decisions(here: Site, pool: str, reason: str) -> float:
    return here.gateway.metrics().total("spillway_route_decisions_total", pool=pool, reason=reason)


async def has_ready(here: Site, role: str, count: int) -> None:
    await here.gateway.eventually(lambda: here.gateway.pool_status(role)["ready"] == count)


@pytest.mark.parametrize("replicas", [1, 3])
async def test_the_limit_is_threshold_times_ready_replicas(engine_thread: EngineThread, replicas: int) -> None:
    limit = THRESHOLD * replicas
    async with serving(engine_thread, speculative=replicas) as (here, client, gate):
        held = await hold(client, limit + 2)
        assert [placed(one) for one in held] == [
            *[("speculative", "under_threshold")] * limit,
            *[("baseline", "over_threshold")] * 2,
        ]
        assert [len(engine.requests) for engine in here.speculative] == [THRESHOLD] * replicas, "least in flight first"
        status = here.gateway.pool_status("speculative")
        assert (status["inflight"], status["limit"], status["ready"]) == (limit, limit, replicas)
        assert {one["inflight"] for one in status["replicas"]} == {THRESHOLD}
        assert here.gateway.pool_status("baseline")["inflight"] == 2
        assert here.gateway.metrics().total("spillway_pool_limit", pool="speculative") == limit
        gate.open()
        for one in held:
            assert (await one.aread()).endswith(b"data: [DONE]\n\n")
        await here.gateway.assert_idle()
        assert decisions(here, "speculative", "under_threshold") == limit
        assert decisions(here, "baseline", "over_threshold") == 2


async def test_one_that_ends_makes_room_for_one(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, _):
        held = await hold(client, THRESHOLD)
        for _ in range(3):
            over = await open_stream(client)
            assert placed(over) == ("baseline", "over_threshold")
            await held.pop(0).aclose()
            await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["inflight"] == THRESHOLD - 1)
            held.append(await open_stream(client))
            assert placed(held[-1]) == ("speculative", "under_threshold")


async def test_no_ready_speculative_replica_sends_all_to_the_baseline(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, gate):
        gate.open()
        await here.speculative[0].kill()
        await has_ready(here, "speculative", 0)
        response = await client.post(CHAT, json=chat())
        assert (response.status_code, placed(response)) == (200, ("baseline", "pool_down"))
        assert here.gateway.get("/ready").status_code == 200, "one pool can still serve the model"
        await here.speculative[0].restart()
        await has_ready(here, "speculative", 1)
        response = await client.post(CHAT, json=chat())
        assert placed(response) == ("speculative", "under_threshold")


async def test_no_ready_baseline_replica_sends_all_to_the_speculative_pool(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, _):
        here.baseline[0].health = "unready"
        await has_ready(here, "baseline", 0)
        held = await hold(client, THRESHOLD + 2)
        assert [placed(one) for one in held[THRESHOLD:]] == [("speculative", "pool_down")] * 2


async def test_nothing_ready_is_503_at_once(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, _):
        for engine in here.engines:
            await engine.kill()
        await has_ready(here, "speculative", 0)
        await has_ready(here, "baseline", 0)
        assert here.gateway.get("/ready").status_code == 503
        assert here.gateway.get("/health").status_code == 200
        response = await client.post(CHAT, json=chat())
        assert response.status_code == 503
        assert response.json()["error"]["message"]
        await here.gateway.assert_idle()


async def test_the_limit_follows_replicas_that_come_and_go(engine_thread: EngineThread) -> None:
    async with serving(engine_thread, speculative=3) as (here, client, gate):
        held = await hold(client, 5)
        # Out of the pool, but what it has goes on.
        here.speculative[2].health = "unready"
        await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["limit"] == 2 * THRESHOLD)
        over = await hold(client, 4)
        assert [placed(one)[0] for one in over] == ["speculative", *["baseline"] * 3]
        assert len(here.speculative[2].requests) <= 2
        here.speculative[2].health = "ok"
        await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["limit"] == 3 * THRESHOLD)
        assert placed(await open_stream(client)) == ("speculative", "under_threshold")
        gate.open()
        for one in held:
            assert (await one.aread()).endswith(b"data: [DONE]\n\n")
        for one in over:
            await one.aclose()


async def test_a_full_baseline_pool_overflows(engine_thread: EngineThread) -> None:
    async with serving(engine_thread, threshold=1, pool={"max_inflight": 2}) as (here, client, _):
        held = await hold(client, 4)
        assert [placed(one) for one in held] == [
            ("speculative", "under_threshold"),
            ("baseline", "over_threshold"),
            ("baseline", "over_threshold"),
            ("speculative", "overflow"),
        ]
        assert here.gateway.pool_status("speculative")["inflight"] == 2


async def test_switch_mode_stays_switched_until_the_load_has_gone(engine_thread: EngineThread) -> None:
    policy: dict[str, Any] = {"mode": "switch", "threshold": 4, "resume_below": 0.5, "min_dwell": 0.3}
    async with serving(engine_thread, **policy) as (here, client, _):
        held = await hold(client, 6)
        assert [placed(one) for one in held] == [
            *[("speculative", "under_threshold")] * 4,
            *[("baseline", "over_threshold")] * 2,
        ]
        for one in held[:3]:
            await one.aclose()
        await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["inflight"] == 1)
        held.append(await open_stream(client))
        assert placed(held[-1]) == ("baseline", "over_threshold"), "3 in flight is not under 2"
        for one in held[3:]:
            await one.aclose()
        await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["inflight"] == 0)

        async def resumed() -> bool:
            probe = await open_stream(client)
            await probe.aclose()
            return placed(probe)[0] == "speculative"

        assert not await resumed(), "not before it has dwelt"
        deadline = time.monotonic() + 3
        while not await resumed():
            assert time.monotonic() < deadline, "never resumed"
