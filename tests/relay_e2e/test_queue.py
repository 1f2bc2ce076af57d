"""When every pool is full, requests wait in a bounded queue, then are told to come back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.support.behaviours import answer
from tests.support.config import config
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.site import CHAT, Site, chat, fake_model, open_stream, site
from tests.support.threads import EngineThread


@asynccontextmanager
async def full(
    thread: EngineThread, size: int = 2, patience: float = 20.0
) -> AsyncIterator[tuple[Site, httpx.AsyncClient, list[httpx.Response], Gate]]:
    """Both pools hold the one request they may, until the gate opens."""
    gate = Gate()

    def settings(fast: list[FakeEngine], plain: list[FakeEngine]) -> Any:
        policy = {"threshold": 1, "queue": {"size": size, "timeout": patience}}
        return config(fake_model(fast, plain, pool={"max_inflight": 1}, policy=policy), limits={"idle_seconds": 30})

    with site(thread, settings=settings) as here:
        here.respond(answer(hold=gate))
        async with here.client() as client:
            held = [await open_stream(client), await open_stream(client)]
            try:
                yield here, client, held, gate
            finally:
                gate.open()


async def wait_queued(here: Site, count: int) -> None:
    await here.gateway.eventually(lambda: here.gateway.metrics().total("spillway_queue_depth") == count)


async def queue_up(here: Site, client: httpx.AsyncClient, count: int) -> list[asyncio.Task[httpx.Response]]:
    """So many requests that wait, in order."""
    waiting = []
    for number in range(count):
        waiting.append(asyncio.create_task(client.post(CHAT, json=chat(seed=number))))
        await wait_queued(here, number + 1)
    return waiting


async def test_a_full_queue_is_429(engine_thread: EngineThread) -> None:
    async with full(engine_thread) as (here, client, _, gate):
        waiting = await queue_up(here, client, 2)
        refused = await client.post(CHAT, json=chat())
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error"]["type"] == "rate_limit_error"
        await here.gateway.counted("spillway_requests_total", 1, code="429")
        gate.open()
        assert [response.status_code for response in await asyncio.gather(*waiting)] == [200, 200]
        await here.gateway.assert_idle()


async def test_the_first_to_wait_is_the_first_served(engine_thread: EngineThread) -> None:
    async with full(engine_thread) as (here, client, held, gate):
        await queue_up(here, client, 2)
        await held[0].aclose()
        await wait_queued(here, 1)
        request = await here.speculative[0].next_request(1)
        assert request.json()["seed"] == 0
        await held[1].aclose()
        await wait_queued(here, 0)
        assert (await here.baseline[0].next_request(1)).json()["seed"] == 1
        gate.open()
        await here.gateway.assert_idle()


async def test_waiting_ends_with_429(engine_thread: EngineThread) -> None:
    async with full(engine_thread, patience=0.4) as (here, client, _, _):
        started = asyncio.get_running_loop().time()
        response = await client.post(CHAT, json=chat())
        waited = asyncio.get_running_loop().time() - started
        assert response.status_code == 429
        assert int(response.headers["retry-after"]) >= 1
        assert 0.35 < waited < 2
        await wait_queued(here, 0)
        assert here.requests() == 2


async def test_waiting_ends_for_each_of_many(engine_thread: EngineThread) -> None:
    """Timers fire early by a rounding error now and then: nobody may be left waiting for that."""
    async with full(engine_thread, size=128, patience=0.3) as (here, client, _, _):
        for _ in range(3):
            responses = await asyncio.gather(*(client.post(CHAT, json=chat()) for _ in range(100)))
            assert {response.status_code for response in responses} == {429}
        await wait_queued(here, 0)


async def test_a_client_that_leaves_the_queue_takes_nothing(engine_thread: EngineThread) -> None:
    async with full(engine_thread) as (here, client, held, gate):
        first, second = await queue_up(here, client, 2)
        before = here.gateway.metrics().total("spillway_cancelled_total")
        first.cancel()
        await wait_queued(here, 1)
        await here.gateway.counted("spillway_cancelled_total", before + 1)
        await held[0].aclose()
        await wait_queued(here, 0)
        assert (await here.speculative[0].next_request(1)).json()["seed"] == 1
        gate.open()
        assert (await second).status_code == 200
        await here.gateway.assert_idle()
        assert here.requests() == 3, "the engine never saw the one that left"


async def test_no_queue_means_429_at_once(engine_thread: EngineThread) -> None:
    async with full(engine_thread, size=0) as (here, client, _, _):
        response = await client.post(CHAT, json=chat())
        assert response.status_code == 429
        assert here.requests() == 2


async def test_those_who_wait_when_everything_goes_down_are_told(engine_thread: EngineThread) -> None:
    async with full(engine_thread, patience=3.0) as (here, client, _, _):
        [waiting] = await queue_up(here, client, 1)
        for engine in here.engines:
            await engine.kill()
        response = await waiting
        assert response.status_code in (429, 502, 503)
        assert response.json()["error"]["message"]
        await here.gateway.assert_idle()
