"""A client that leaves frees its engine at once: before the first token and after, streamed and not."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.behaviours import Behaviour, End, answer, play, stream
from tests.support.config import config
from tests.support.raw import RawClient, raw_client, request_bytes
from tests.support.site import Site, chat, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import CHUNKED, SSE_HEADERS, chat_delta, chunk, event, head

AT_ONCE = 0.5  # seconds, on a busy machine
EVENT = event(chat_delta("word"))
ENDLESS: list[bytes] = [EVENT] * 100_000

BEFORE_FIRST_TOKEN: dict[str, Behaviour] = {
    "no head": play(End.HANG),
    "head only": play(head(200, (*SSE_HEADERS, *CHUNKED)), End.HANG),
}
AFTER_FIRST_TOKEN: dict[str, Behaviour] = {
    "between events": stream([EVENT, *[EVENT] * 1000], gap=0.05),
    "in silence": play(head(200, (*SSE_HEADERS, *CHUNKED)), chunk(EVENT), End.HANG),
    "at full speed": stream(ENDLESS),
}


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    def settings(fast: Any, plain: Any) -> Any:
        return config(fake_model(fast, plain), limits={"idle_seconds": 30, "first_byte_seconds": 30})

    with site(engine_thread, speculative=1, baseline=0, settings=settings) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


def cancelled(here: Site) -> float:
    return here.gateway.metrics().total("spillway_cancelled_total")


async def leaves_in_time(here: Site, client: RawClient, leave: str) -> None:
    """The client leaves; its engine must see it at once, and the gateway count it once."""
    before = cancelled(here)
    request = await here.speculative[0].next_request()
    left = time.monotonic()
    getattr(client, leave)()
    assert await request.wait_gone() - left < AT_ONCE
    await here.gateway.assert_idle()
    await here.gateway.counted("spillway_cancelled_total", before + 1)
    assert here.requests() == 1, "nothing is tried again for a client that has gone"


@pytest.mark.parametrize("leave", ["close", "reset"])
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "unstreamed"])
@pytest.mark.parametrize("behaviour", BEFORE_FIRST_TOKEN.values(), ids=BEFORE_FIRST_TOKEN)
async def test_before_the_first_token(here: Site, behaviour: Behaviour, streamed: bool, leave: str) -> None:
    here.respond(behaviour)
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat(streamed)).encode()))
        await leaves_in_time(here, client, leave)


@pytest.mark.parametrize("leave", ["close", "reset"])
@pytest.mark.parametrize("behaviour", AFTER_FIRST_TOKEN.values(), ids=AFTER_FIRST_TOKEN)
async def test_after_the_first_token(here: Site, behaviour: Behaviour, leave: str) -> None:
    here.respond(behaviour)
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
        await client.read_until(b"word")
        await leaves_in_time(here, client, leave)


async def test_in_the_middle_of_an_unstreamed_body(here: Site) -> None:
    here.respond(play(head(200, (("content-type", "application/json"), *CHUNKED)), chunk(b"[1, "), End.HANG))
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat()).encode()))
        await here.speculative[0].next_request()
        await asyncio.sleep(0.1)
        await leaves_in_time(here, client, "close")


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "unstreamed"])
async def test_during_a_retry(engine_thread: EngineThread, streamed: bool) -> None:
    with site(engine_thread, speculative=2, baseline=0) as here:
        for engine in here.speculative:
            engine.respond = play(End.HANG)
        async with raw_client(here.gateway.port) as client:
            await client.send(request_bytes(json.dumps(chat(streamed)).encode()))
            await here.gateway.eventually(lambda: here.requests() == 1)
            first = next(engine for engine in here.speculative if engine.requests)
            [second] = [engine for engine in here.speculative if engine is not first]
            await first.kill()
            request = await second.next_request()
            client.close()
            await request.wait_gone()
        await here.gateway.assert_idle()


async def test_a_client_that_never_finished_asking(here: Site) -> None:
    for leave in ("close", "reset"):
        async with raw_client(here.gateway.port) as client:
            await client.send(request_bytes(json.dumps(chat()).encode())[:-5])
            await asyncio.sleep(0.05)
            getattr(client, leave)()
    await here.gateway.assert_idle()
    assert here.requests() == 0


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_a_client_that_leaves_with_its_last_byte(here: Site, leave: str) -> None:
    """However the request's end and the connection's end fall together, the engine is not kept for nobody."""
    here.respond(play(End.HANG))
    sent = request_bytes(json.dumps(chat()).encode())
    for _ in range(40):
        clients = [await RawClient.open(here.gateway.port) for _ in range(5)]
        for client in clients:
            await client.send(sent[:-5])
        await asyncio.sleep(0.005)
        for client in clients:
            await client.send(sent[-5:])
            getattr(client, leave)()
    await here.gateway.assert_idle()
    for request in here.speculative[0].requests:
        await request.wait_gone()


async def test_a_half_closed_client_is_answered_or_cancelled(here: Site) -> None:
    """It may be gone or only done with asking: either is right, a leak is not."""
    for streamed in (True, False):
        here.respond(answer(gap=0.05))
        async with raw_client(here.gateway.port) as client:
            await client.send(request_bytes(json.dumps(chat(streamed)).encode()))
            await here.speculative[0].next_request()
            client.half_close()
            response = await client.response()
            assert response.status in (0, 200)
        await here.gateway.assert_idle()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request_bytes(b"", "/v1/models", "GET", headers=[]), 200),
        (request_bytes(b"", "/health", "GET", headers=[]), 200),
        (request_bytes(b"", "/metrics", "GET", headers=[]), 200),
        (request_bytes(b"", "/nowhere", "GET", headers=[]), 404),
        (request_bytes(json.dumps(chat(model="nope")).encode()), 404),
        (b"GET /health HTTP/2.0\r\n\r\n", 505),
    ],
)
async def test_a_half_closed_client_gets_what_the_gateway_says_itself(here: Site, sent: bytes, status: int) -> None:
    for _ in range(10):
        async with raw_client(here.gateway.port) as client:
            await client.send(sent)
            client.half_close()
            response = await client.response()
            assert (response.status, response.complete) == (status, True)
            await client.wait_closed()
    assert here.requests() == 0


async def test_many_leave_at_once(here: Site) -> None:
    here.respond(stream([EVENT] * 1000, gap=0.02))
    before = cancelled(here)
    clients = [await RawClient.open(here.gateway.port) for _ in range(60)]
    for client in clients:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
    for client in clients:
        await client.read_until(b"word")
    for number, client in enumerate(clients):
        if number % 2:
            client.reset()
        else:
            client.close()
    await here.gateway.assert_idle()
    await here.gateway.counted("spillway_cancelled_total", before + 60)
    for request in here.speculative[0].requests:
        await request.wait_gone()


async def test_the_engine_keeps_no_connection_of_a_cancelled_request(here: Site) -> None:
    here.respond(stream(ENDLESS, gap=0.01))
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
        await client.read_until(b"word")
    here_request = here.speculative[0].requests[0]
    await here_request.wait_gone()
    here.respond(answer())
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
        response = await client.response()
    assert response.body.endswith(b"data: [DONE]\n\n")
    assert here.speculative[0].requests[0].connection != here_request.connection


@pytest.mark.parametrize("size", [100_000, 700_000])
@pytest.mark.parametrize("behaviour", [*BEFORE_FIRST_TOKEN.values()], ids=[*BEFORE_FIRST_TOKEN])
async def test_after_a_long_prompt(here: Site, behaviour: Behaviour, size: int) -> None:
    """Long bodies have reading paused while they come: it must go on after them, or the loss is not heard of."""
    here.respond(behaviour)
    async with raw_client(here.gateway.port) as client:
        body = {**chat(stream=True), "padding": "x" * size}
        await client.send(request_bytes(json.dumps(body).encode()))
        await leaves_in_time(here, client, "close")


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_with_another_request_sent_ahead(here: Site, leave: str) -> None:
    here.respond(BEFORE_FIRST_TOKEN["no head"])
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat()).encode()) * 2)
        await leaves_in_time(here, client, leave)
