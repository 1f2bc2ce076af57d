"""A failed attempt is tried elsewhere while nothing has reached the client, and never after."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.behaviours import (
    AFTER_FIRST_BYTE,
    BEFORE_FIRST_BYTE,
    Behaviour,
    End,
    answer,
    close_on_reuse,
    fail,
    play,
)
from tests.support.config import config
from tests.support.engine import FakeEngine
from tests.support.exchange import Exchange, Gate
from tests.support.site import CHAT, Site, chat, fake_model, open_stream, placed, site
from tests.support.threads import EngineThread

# Replicas stay in their pool whatever they do, so that every request finds the broken one.
STUBBORN = {"health": {"interval": 600.0, "eject_after": 10_000, "unhealthy_after": 10_000}}

UNANSWERED = (BEFORE_FIRST_BYTE["close before head"], BEFORE_FIRST_BYTE["reset before head"])


def stubborn(fast: list[FakeEngine], plain: list[FakeEngine], **sections: Any) -> Any:
    return config(fake_model(fast, plain, pool=STUBBORN), **sections)


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    with site(engine_thread, speculative=2, baseline=1, settings=stubborn) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


def retries(here: Site) -> float:
    return here.gateway.metrics().total("spillway_retries_total")


async def first_choice(here: Site) -> tuple[FakeEngine, FakeEngine]:
    """The speculative replica that this suite's prompt goes to while both are idle, and the other."""
    async with here.client() as client:
        response = await client.post(CHAT, json=chat())
    labels = {engine.label: engine for engine in here.speculative}
    chosen = labels.pop(response.headers["x-spillway-replica"])
    [other] = labels.values()
    here.respond(answer())
    return chosen, other


@pytest.mark.parametrize("stream", [False, True], ids=["unstreamed", "streamed"])
@pytest.mark.parametrize("behaviour", BEFORE_FIRST_BYTE.values(), ids=BEFORE_FIRST_BYTE)
async def test_another_replica_answers(here: Site, behaviour: Behaviour, stream: bool) -> None:
    broken, healthy = await first_choice(here)
    broken.respond = behaviour
    before = retries(here)
    async with here.client() as client:
        response = await client.post(CHAT, json=chat(stream))
    assert response.status_code == 200
    assert placed(response) == ("speculative", "failover")
    assert response.headers["x-spillway-replica"] == healthy.label
    assert retries(here) == before + 1
    # Closed unanswered on a connection used before: perhaps only that connection was stale, so it gets one more chance.
    stale = broken.requests[0].turn > 0 and behaviour in (
        BEFORE_FIRST_BYTE["close before head"],
        BEFORE_FIRST_BYTE["reset before head"],
    )
    assert (len(broken.requests), len(healthy.requests)) == (2 if stale else 1, 1)
    assert {request.body for request in broken.requests} == {healthy.requests[0].body}
    await here.gateway.assert_idle()


async def test_a_refused_connection_is_tried_elsewhere(here: Site) -> None:
    broken, healthy = await first_choice(here)
    await broken.kill()
    try:
        async with here.client() as client:
            response = await client.post(CHAT, json=chat())
    finally:
        await broken.restart()
    assert placed(response) == ("speculative", "failover")
    assert len(healthy.requests) == 1
    await here.gateway.assert_idle()


async def test_the_other_pool_is_the_last_resort(here: Site) -> None:
    before = retries(here)
    for engine in here.speculative:
        engine.respond = fail(503)
    async with here.client() as client:
        response = await client.post(CHAT, json=chat(stream=True))
    assert response.status_code == 200
    assert placed(response) == ("baseline", "failover")
    assert [len(engine.requests) for engine in here.engines] == [1, 1, 1]
    assert retries(here) == before + 2
    metrics = here.gateway.metrics()
    assert metrics.total("spillway_route_decisions_total", pool="baseline", reason="failover") >= 1
    await here.gateway.assert_idle()


async def test_when_all_fail_the_last_failure_is_told(here: Site) -> None:
    for engine in here.engines:
        engine.respond = play(End.RESET)
    async with here.client() as client:
        response = await client.post(CHAT, json=chat())
    assert response.status_code == 502
    assert response.json()["error"]["message"]
    fresh = [[one for one in engine.requests if one.turn == 0] for engine in here.engines]
    assert [len(requests) for requests in fresh] == [1, 1, 1], "each once, stale connections aside"
    await here.gateway.assert_idle()


@pytest.mark.parametrize("behaviour", AFTER_FIRST_BYTE.values(), ids=AFTER_FIRST_BYTE)
async def test_nothing_is_tried_again_after_the_first_byte(here: Site, behaviour: Behaviour) -> None:
    broken, other = await first_choice(here)
    broken.respond = behaviour
    before = retries(here)
    async with here.client() as client:
        response = await client.post(CHAT, json=chat(stream=True))
    assert response.status_code == 200
    assert "error" in json.loads(response.text.rstrip().rpartition("data: ")[2])
    assert retries(here) == before
    assert (len(broken.requests), len(other.requests), len(here.baseline[0].requests)) == (1, 0, 0)
    await here.gateway.assert_idle()


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500, 501])
async def test_an_engines_judgement_is_not_appealed(here: Site, status: int) -> None:
    broken, _ = await first_choice(here)
    broken.respond = fail(status)
    async with here.client() as client:
        response = await client.post(CHAT, json=chat())
    assert response.status_code == status
    assert here.requests() == 1


async def test_what_timed_out_is_not_repeated(engine_thread: EngineThread) -> None:
    """The engine may be at work on it: three attempts would be three engines at work for one client."""
    with site(
        engine_thread, settings=lambda fast, plain: stubborn(fast, plain, limits={"first_byte_seconds": 1.0})
    ) as here:
        for engine in here.engines:
            engine.respond = answer(hold=Gate())
        async with here.client() as client:
            response = await client.post(CHAT, json=chat())
        assert response.status_code == 504
        assert response.json()["error"]["code"] == "engine_timeout"
        assert here.requests() == 1
        await here.gateway.assert_idle()


async def test_a_stale_connection_costs_nothing(here: Site) -> None:
    """The keep-alive race: every second request finds its pooled connection closed, and none fails."""
    for engine in here.engines:
        engine.respond = close_on_reuse(answer())
    async with here.client() as client:
        for _ in range(20):
            response = await client.post(CHAT, json=chat())
            assert response.status_code == 200
    await here.gateway.assert_idle()


async def test_a_closed_connection_is_not_used(here: Site) -> None:
    """Keep-alive advertised, connection closed after the reply: the next request opens its own."""
    for engine in here.engines:
        engine.respond = closing(answer())
    before = retries(here)
    async with here.client() as client:
        for _ in range(10):
            assert (await client.post(CHAT, json=chat())).status_code == 200
            await asyncio.sleep(0.02)
    assert here.requests() == 10
    assert retries(here) == before
    await here.gateway.assert_idle()


def closing(behaviour: Behaviour) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await behaviour(exchange)
        exchange.close()

    return behave


async def test_the_budget_bounds_retries(engine_thread: EngineThread) -> None:
    def no_budget(fast: list[FakeEngine], plain: list[FakeEngine]) -> Any:
        return stubborn(fast, plain, retries={"attempts": 3, "ratio": 0, "burst": 2})

    with site(engine_thread, speculative=2, baseline=0, settings=no_budget) as here:
        here.respond(fail(503))
        async with here.client() as client:
            for _ in range(6):
                response = await client.post(CHAT, json=chat())
                assert response.status_code in (502, 503)
        assert here.requests() == 6 + 2
        assert retries(here) == 2
        await here.gateway.assert_idle()


async def test_attempts_bound_one_request(engine_thread: EngineThread) -> None:
    with site(engine_thread, speculative=4, baseline=2, settings=stubborn) as here:
        here.respond(fail(503))
        async with here.client() as client:
            response = await client.post(CHAT, json=chat())
        assert response.status_code in (502, 503)
        assert here.requests() == 3
        assert max(len(engine.requests) for engine in here.engines) == 1


async def test_in_flight_follows_the_attempt(here: Site) -> None:
    """While the second replica answers, only it holds the request."""
    broken, healthy = await first_choice(here)
    gate = Gate()
    broken.respond = fail(503)
    healthy.respond = answer(hold=gate)
    async with here.client() as client:
        response = await open_stream(client)
        replicas = {one["url"]: one["inflight"] for one in here.gateway.pool_status("speculative")["replicas"]}
        assert replicas == {broken.url: 0, healthy.url: 1}
        gate.open()
        await response.aread()
    assert placed(response) == ("speculative", "failover")
    await here.gateway.assert_idle()
