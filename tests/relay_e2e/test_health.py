"""A replica leaves its pool when it is dead or keeps failing, not when it is slow, and comes back when it is well."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.behaviours import End, answer, broken_stream, fail, stream
from tests.support.config import Settings, config
from tests.support.engine import FakeEngine, HealthMode
from tests.support.site import CHAT, Site, chat, fake_model, open_stream, placed, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_delta, event

Made = Callable[[list[FakeEngine], list[FakeEngine]], Settings]


def with_health(**health: Any) -> Made:
    return lambda fast, plain: config(fake_model(fast, plain, pool={"health": health}), limits={"idle_seconds": 30})


def state(here: Site) -> str:
    return str(here.gateway.pool_status("speculative")["replicas"][0]["state"])


async def test_slow_is_not_dead(engine_thread: EngineThread) -> None:
    """Probes go unanswered for a while, but the engine is at work: it stays."""
    settings = with_health(interval=0.2, timeout=0.2, hang_seconds=0.8)
    with site(engine_thread, settings=settings) as here:
        engine = here.speculative[0]
        engine.respond = stream([event(chat_delta("word"))] * 60, gap=0.05)
        async with here.client() as client:
            held = await open_stream(client)
            engine.health = "hang"
            for _ in range(20):
                await asyncio.sleep(0.1)
                assert here.gateway.pool_status("speculative")["ready"] == 1
            assert (await held.aread()).count(b"word") == 60


async def test_hung_is_dead(engine_thread: EngineThread) -> None:
    settings = with_health(interval=0.2, timeout=0.2, hang_seconds=0.8)
    with site(engine_thread, settings=settings) as here:
        engine = here.speculative[0]
        engine.stalled = True
        await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["ready"] == 0, 5.0)
        async with here.client() as client:
            response = await client.post(CHAT, json=chat())
            assert placed(response) == ("baseline", "pool_down")
            engine.stalled = False
            await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["ready"] == 1, 5.0)
            assert placed(await client.post(CHAT, json=chat())) == ("speculative", "under_threshold")


async def test_one_bad_probe_changes_nothing(engine_thread: EngineThread) -> None:
    settings = with_health(interval=0.3, unhealthy_after=3)
    with site(engine_thread, settings=settings) as here:
        engine = here.speculative[0]
        modes: list[HealthMode] = ["unready", "reset"]
        for mode in modes:
            engine.health = mode
            await asyncio.sleep(0.4)
            engine.health = "ok"
            await asyncio.sleep(0.4)
            assert here.gateway.pool_status("speculative")["ready"] == 1


async def test_failing_requests_eject_and_a_probe_brings_back(engine_thread: EngineThread) -> None:
    settings = with_health(interval=0.2, eject_after=3, eject_seconds=0.6, eject_max_seconds=2.0)
    with site(engine_thread, settings=settings) as here:
        engine = here.speculative[0]
        engine.respond = fail(503)
        async with here.client() as client:
            for number in range(3):
                assert state(here) == "ready", number
                response = await client.post(CHAT, json=chat())
                assert placed(response) == ("baseline", "failover")
            assert state(here) == "ejected"
            assert placed(await client.post(CHAT, json=chat())) == ("baseline", "pool_down")
            assert len([one for one in engine.requests if one.turn == 0]) <= 3
            engine.respond = answer()
            await here.gateway.eventually(lambda: state(here) == "ready", 5.0)
            assert placed(await client.post(CHAT, json=chat())) == ("speculative", "under_threshold")
        await here.gateway.assert_idle()


async def test_streams_that_all_break_eject(engine_thread: EngineThread) -> None:
    """One at a time: each begins well, and that alone must not clear the record."""
    with site(engine_thread, settings=with_health(eject_after=3, eject_seconds=5.0, eject_max_seconds=5.0)) as here:
        here.speculative[0].respond = broken_stream([event(chat_delta("word"))], End.RESET, gap=0.1)
        async with here.client() as client:
            for _ in range(3):
                response = await client.post(CHAT, json=chat(stream=True))
                assert placed(response)[0] == "speculative"
                assert '"error"' in response.text
            await here.gateway.eventually(lambda: state(here) == "ejected", 2.0)
            assert placed(await client.post(CHAT, json=chat())) == ("baseline", "pool_down")


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_refusals_that_are_delivered_eject(engine_thread: EngineThread, status: int) -> None:
    """The client gets the engine's own answer, as there is no other; it is a failure of the replica all the same."""
    settings = with_health(eject_after=3, eject_seconds=30, eject_max_seconds=30)
    with site(engine_thread, baseline=0, settings=settings) as here:
        here.respond(fail(status))
        async with here.client() as client:
            for _ in range(3):
                response = await client.post(CHAT, json=chat())
                assert (response.status_code, response.headers["x-spillway-pool"]) == (status, "speculative")
            assert state(here) == "ejected"
            assert (await client.post(CHAT, json=chat())).json()["error"]["code"] == "no_replica_ready"


async def test_clients_errors_eject_nobody(engine_thread: EngineThread) -> None:
    with site(engine_thread, settings=with_health(eject_after=1)) as here:
        here.respond(fail(400))
        async with here.client() as client:
            for _ in range(5):
                assert (await client.post(CHAT, json=chat())).status_code == 400
        assert state(here) == "ready"


async def test_clients_that_leave_eject_nobody(engine_thread: EngineThread) -> None:
    with site(engine_thread, settings=with_health(eject_after=1)) as here:
        here.respond(stream([event(chat_delta("word"))] * 200, gap=0.02))
        async with here.client() as client:
            for _ in range(5):
                await (await open_stream(client)).aclose()
        await here.gateway.assert_idle()
        assert state(here) == "ready"


async def test_a_gateway_starts_before_its_engines(engine_thread: EngineThread) -> None:
    with site(engine_thread, baseline=0, wait_for=None) as here:
        engine = here.speculative[0]
        await engine.kill()
        await asyncio.to_thread(here.gateway.wait_up, "/health")
        await here.gateway.eventually(lambda: here.gateway.get("/ready").status_code == 503)
        await engine.restart()
        await asyncio.to_thread(here.gateway.wait_up)
        async with here.client() as client:
            assert (await client.post(CHAT, json=chat())).status_code == 200
