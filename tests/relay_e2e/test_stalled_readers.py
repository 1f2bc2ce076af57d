"""Clients that take no more of a response which is over for the engine: broken off, or delivered. They are not kept."""

import asyncio
import json
from typing import Any

import pytest

from tests.support.behaviours import stream
from tests.support.config import config
from tests.support.raw import RawClient, raw_client, request_bytes
from tests.support.site import Site, chat, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_delta, event

STALL_SECONDS = 2.0
PIECE = event(chat_delta("x" * 60_000))
REQUEST_ID = "req-of-the-stalled"


def settings(fast: Any, plain: Any) -> Any:
    """An engine that hangs is found out before the client's time is over."""
    limits = {"client_stall_seconds": STALL_SECONDS, "idle_seconds": 60}
    health = {"interval": 0.1, "timeout": 0.1, "hang_seconds": 0.4}
    return config(
        fake_model(fast, plain, pool={"health": health}),
        limits=limits,
        drain={"delay_seconds": 0, "timeout_seconds": 60},
    )


async def stall(here: Site, client: RawClient) -> None:
    """Ask for far more than sockets hold, and read the beginning only, until nothing moves."""
    [engine] = here.engines
    engine.respond = stream([PIECE] * 3000)
    headers = [("content-type", "application/json"), ("x-request-id", REQUEST_ID)]
    await client.send(request_bytes(json.dumps(chat(stream=True)).encode(), headers=headers))
    await client.read_until(b"data: ")
    request = await engine.next_request()
    sent = -1
    while sent != request.sent:
        sent = request.sent
        await asyncio.sleep(0.3)


@pytest.mark.parametrize("draining", [False, True], ids=["serving", "draining"])
async def test_a_reader_of_a_stream_that_broke(engine_thread: EngineThread, draining: bool) -> None:
    """The engine hangs, so the exchange is broken off; the error event has nowhere to go."""
    with site(engine_thread, speculative=1, baseline=0, settings=settings) as here:
        async with raw_client(here.gateway.port) as client:
            await stall(here, client)
            [engine] = here.engines
            engine.stalled, engine.health = True, "hang"
            await engine.requests[0].wait_gone(5.0)
            if draining:
                here.gateway.terminate()
            line = await here.gateway.log_line(REQUEST_ID, STALL_SECONDS + 5)
            assert line["ended"] == "cancelled_streaming"
            response = await client.response(10.0)
            assert not response.complete
            await client.wait_closed()
        if draining:
            assert await here.gateway.wait_exit() == 0
        else:
            engine.stalled, engine.health = False, "ok"
            await here.gateway.assert_idle()


async def test_a_drain_does_not_wait_for_a_reader_that_stopped(engine_thread: EngineThread) -> None:
    """The engine still has much to say; the client is given up after its time, long before the drain's is over."""
    with site(engine_thread, speculative=1, baseline=0, settings=settings) as here:
        async with raw_client(here.gateway.port) as client:
            await stall(here, client)
            here.gateway.terminate()
            assert await here.gateway.wait_exit() == 0
            line = await here.gateway.log_line(REQUEST_ID)
            assert line["ended"] == "cancelled_streaming"
            assert not (await client.response()).complete
