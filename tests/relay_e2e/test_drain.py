"""SIGTERM: unready at once, serving through the delay, then only what is in flight, then exit 0."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from gateway import __version__
from tests.support.behaviours import answer, play
from tests.support.config import config
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.gateway import gateway
from tests.support.raw import raw_client
from tests.support.site import CHAT, Site, chat, fake_model, open_stream, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_events

DELAY = 0.8


@asynccontextmanager
async def streaming(
    thread: EngineThread, drain: dict[str, float] | None = None
) -> AsyncIterator[tuple[Site, httpx.AsyncClient, httpx.Response, Gate]]:
    """One stream in flight, held by the gate."""
    gate = Gate()

    def settings(fast: list[FakeEngine], plain: list[FakeEngine]) -> Any:
        drains = {"delay_seconds": DELAY, "timeout_seconds": 20.0, **(drain or {})}
        return config(fake_model(fast, plain), limits={"idle_seconds": 30}, drain=drains)

    with site(thread, settings=settings) as here:
        here.respond(answer(hold=gate))
        async with here.client() as client:
            yield here, client, await open_stream(client), gate


async def refuses(port: int) -> None:
    """Waits until nobody listens on the port."""
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        try:
            async with raw_client(port) as client:
                # Accepted by the kernel's backlog perhaps: only an answer counts as serving.
                await client.send(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
                if (await client.response(1.0)).status == 0:
                    return
        except ConnectionError:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("still listening")


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_a_stream_in_flight_finishes(engine_thread: EngineThread, sign: signal.Signals) -> None:
    async with streaming(engine_thread) as (here, client, held, gate):
        assert here.gateway.get("/ready").status_code == 200
        here.gateway.process.send_signal(sign)
        await here.gateway.eventually(lambda: here.gateway.get("/ready").status_code == 503, DELAY / 2)
        here.respond(answer())
        assert (await client.post(CHAT, json=chat())).status_code == 200, "it serves through the delay"
        await asyncio.sleep(DELAY)
        await refuses(here.gateway.port)
        assert here.gateway.process.poll() is None
        gate.open()
        body = await held.aread()
        assert body == b"".join(chat_events(("one ", "two ", "three")))
        assert await here.gateway.wait_exit() == 0


async def test_an_idle_gateway_goes_after_the_delay(engine_thread: EngineThread) -> None:
    async with streaming(engine_thread) as (here, _, held, gate):
        gate.open()
        await held.aread()
        await here.gateway.assert_idle()
        async with raw_client(here.gateway.port) as idle:
            await idle.send(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
            assert (await idle.response()).status == 200
            started = time.monotonic()
            here.gateway.terminate()
            assert await here.gateway.wait_exit() == 0
            assert DELAY * 0.9 < time.monotonic() - started < DELAY + 3
            await idle.wait_closed()


async def test_what_does_not_finish_is_cut_in_an_orderly_way(engine_thread: EngineThread) -> None:
    async with streaming(engine_thread, {"delay_seconds": 0, "timeout_seconds": 0.7}) as (here, _, held, _):
        started = time.monotonic()
        here.gateway.terminate()
        try:
            body = await held.aread()
        except httpx.RemoteProtocolError:
            pass  # cut short, and so visibly broken
        else:
            assert b'"error"' in body, "a broken stream must not look whole"
        assert await here.gateway.wait_exit() == 0
        assert 0.6 < time.monotonic() - started < 4
        await here.engines[0].requests[0].wait_gone() if here.engines[0].requests else None


async def test_a_second_signal_ends_it_at_once(engine_thread: EngineThread) -> None:
    async with streaming(engine_thread) as (here, _, _, _):
        here.gateway.terminate()
        await asyncio.sleep(0.2)
        here.gateway.terminate()
        started = time.monotonic()
        await here.gateway.wait_exit()
        assert time.monotonic() - started < 3


async def test_an_unstreamed_request_finishes_too(engine_thread: EngineThread) -> None:
    async with streaming(engine_thread, {"delay_seconds": 0}) as (here, client, held, gate):
        waiting = asyncio.create_task(client.post(CHAT, json=chat()))
        await here.gateway.eventually(lambda: here.requests() == 2)
        here.gateway.terminate()
        await asyncio.sleep(0.3)
        gate.open()
        assert (await waiting).status_code == 200
        await held.aread()
        assert await here.gateway.wait_exit() == 0


async def test_new_requests_on_an_open_connection_are_sent_elsewhere(engine_thread: EngineThread) -> None:
    """After the delay a keep-alive connection is closed or its request refused, never left hanging."""
    async with streaming(engine_thread, {"delay_seconds": 0}) as (here, _, held, gate):
        async with raw_client(here.gateway.port) as client:
            await client.send(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
            assert (await client.response()).status == 200
            here.gateway.terminate()
            await client.wait_closed(3.0)
        here.respond(play())
        gate.open()
        await held.aread()
        assert await here.gateway.wait_exit() == 0


def test_a_quiet_end_is_not_an_error(engine_thread: EngineThread) -> None:
    """With a port of its own for operators, too."""
    admin = {"host": "127.0.0.1", "port": 0}
    drain = {"delay_seconds": 0.0, "timeout_seconds": 5.0}
    with (
        engine_thread.engines(1) as engines,
        gateway(config(fake_model([], engines), admin=admin, drain=drain)) as here,
    ):
        here.process.send_signal(signal.SIGTERM)
        assert here.process.wait(10) == 0
        assert [line for line in here.log if line.get("level") in ("error", "critical")] == []
        said = [line["message"] for line in here.log if "message" in line]
        path = here.config_path
        assert said[0] == f"spillway {__version__}, configuration {path}: fake (threshold)"
        assert said[-2:] == [
            "draining: unready for 0 s, then up to 5 s for streams; a second signal ends at once",
            "drained",
        ]
