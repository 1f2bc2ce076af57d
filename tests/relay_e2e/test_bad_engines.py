"""Engines that misbehave, with no other to turn to: what the client gets, down to the byte."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.behaviours import (
    AFTER_FIRST_BYTE,
    BEFORE_FIRST_BYTE,
    FIRST_EVENTS,
    HELLO,
    JSON_BODY,
    ODD_BUT_FINE,
    Behaviour,
    End,
    answer,
    broken_stream,
    fail,
    play,
)
from tests.support.config import config
from tests.support.raw import Response, exchange, openai_error, request_bytes
from tests.support.site import Site, chat, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import CHUNKED, LAST_CHUNK, SSE_HEADERS, chunk, head, reply

FIRST_BYTE_SECONDS = 0.8
IDLE_SECONDS = 0.6
STREAMED = request_bytes(json.dumps(chat(stream=True)).encode())
WHOLE = request_bytes(json.dumps(chat()).encode())
JSON_HEAD = (("content-type", "application/json"),)


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    def settings(fast: Any, plain: Any) -> Any:
        lenient = {"health": {"eject_after": 10_000}}
        limits = {"first_byte_seconds": FIRST_BYTE_SECONDS, "idle_seconds": IDLE_SECONDS}
        return config(fake_model(fast, plain, pool=lenient), limits=limits)

    with site(engine_thread, speculative=1, baseline=0, settings=settings) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


async def counted(here: Site, sent: bytes) -> Response:
    """Sends, and checks that exactly this request was counted under its status, and that nothing stays in flight."""
    before = here.gateway.metrics()
    response = await exchange(here.gateway.port, sent)
    name, code = "spillway_requests_total", str(response.status)
    await here.gateway.counted(name, before.total(name) + 1)
    assert here.gateway.metrics().total(name, code=code) == before.total(name, code=code) + 1, response
    await here.gateway.assert_idle()
    return response


@pytest.mark.parametrize("sent", [STREAMED, WHOLE], ids=["streamed", "unstreamed"])
@pytest.mark.parametrize("behaviour", BEFORE_FIRST_BYTE.values(), ids=BEFORE_FIRST_BYTE)
async def test_nothing_came(here: Site, behaviour: Behaviour, sent: bytes) -> None:
    here.respond(behaviour)
    response = await counted(here, sent)
    assert response.status in (502, 503, 504)
    assert response.complete
    assert response.error
    assert response.header("x-request-id")


@pytest.mark.parametrize("sent", [STREAMED, WHOLE], ids=["streamed", "unstreamed"])
@pytest.mark.parametrize("silence", [(), (head(200, (*SSE_HEADERS, *CHUNKED)),)], ids=["no head", "head only"])
async def test_an_engine_that_never_begins_times_out(here: Site, silence: tuple[bytes, ...], sent: bytes) -> None:
    here.respond(play(*silence, End.HANG))
    response = await counted(here, sent)
    assert response.status == 504
    assert response.error
    for request in here.speculative[0].requests:
        await request.wait_gone()


@pytest.mark.parametrize("behaviour", AFTER_FIRST_BYTE.values(), ids=AFTER_FIRST_BYTE)
async def test_a_stream_broke(here: Site, behaviour: Behaviour) -> None:
    here.respond(behaviour)
    response = await counted(here, STREAMED)
    assert response.status == 200
    check_broken(response, b"".join(FIRST_EVENTS))
    assert here.requests() == 1, "never again after the first byte"


async def test_a_stream_fell_silent(here: Site) -> None:
    here.respond(broken_stream(FIRST_EVENTS, End.HANG))
    response = await counted(here, STREAMED)
    check_broken(response, b"".join(FIRST_EVENTS))
    await here.speculative[0].requests[0].wait_gone()


def check_broken(response: Response, whole_events: bytes) -> None:
    """What came whole, then an error event, then an orderly end."""
    assert response.body.startswith(whole_events)
    assert response.complete
    rest = response.body.removeprefix(whole_events)
    assert rest.startswith(b"data: ")
    assert rest.endswith(b"\n\n")
    assert rest.count(b"\n\n") == 1
    error = openai_error(json.loads(rest.removeprefix(b"data: ")))
    assert error["type"] == "server_error"


async def test_a_stream_of_messages_broke_in_its_own_shape(here: Site) -> None:
    events = [b'event: message_start\ndata: {"type": "message_start"}\n\n']
    here.respond(broken_stream([*events, b"event: content_bl"]))
    response = await counted(here, STREAMED.replace(b"/v1/chat/completions", b"/v1/messages"))
    assert response.complete
    name, data = response.body.removeprefix(events[0]).decode().rstrip("\n").split("\n")
    assert name == "event: error"
    value = json.loads(data.removeprefix("data: "))
    assert value["type"] == "error"
    assert value["error"]["type"]
    assert value["error"]["message"]


SHORT: dict[str, Behaviour] = {
    "Content-Length, closed": play(head(200, (*JSON_HEAD, ("content-length", "500"))), JSON_BODY, 0.02, End.CLOSE),
    "Content-Length, reset": play(head(200, (*JSON_HEAD, ("content-length", "500"))), JSON_BODY, 0.1, End.RESET),
    "Content-Length, silent": play(head(200, (*JSON_HEAD, ("content-length", "500"))), JSON_BODY, End.HANG),
    "chunked, closed": play(head(200, (*JSON_HEAD, *CHUNKED)), chunk(JSON_BODY), 0.02, End.CLOSE),
    "chunked, garbage": play(head(200, (*JSON_HEAD, *CHUNKED)), chunk(JSON_BODY), 0.02, b"zz\r\n", End.HANG),
}


@pytest.mark.parametrize("behaviour", SHORT.values(), ids=SHORT)
async def test_a_whole_answer_came_short(here: Site, behaviour: Behaviour) -> None:
    here.respond(behaviour)
    response = await counted(here, WHOLE)
    # Either nothing had gone out, and the error is a whole one, or the body ends visibly short.
    if response.status == 200:
        assert not response.complete
        assert JSON_BODY.startswith(response.body)
    else:
        assert response.status in (502, 504)
        assert response.error
    assert here.requests() == 1 or response.status != 200


@pytest.mark.parametrize("behaviour", ODD_BUT_FINE.values(), ids=ODD_BUT_FINE)
async def test_odd_but_fine(here: Site, behaviour: Behaviour) -> None:
    here.respond(behaviour)
    for _ in range(2):  # the second finds whatever the first has left of the connection
        response = await counted(here, STREAMED)
        assert (response.status, response.complete) == (200, True)
        assert response.body == b"".join(HELLO)


OTHERS = b'{"a": "other request\'s answer"}'
BEYOND: dict[str, Behaviour] = {
    "garbage after Content-Length": play(reply(200, JSON_BODY, JSON_HEAD) + b"oops"),
    "a response after Content-Length": play(reply(200, JSON_BODY, JSON_HEAD) + reply(200, OTHERS, JSON_HEAD)),
    "a response after the last chunk": play(
        head(200, (*JSON_HEAD, *CHUNKED)) + chunk(JSON_BODY) + LAST_CHUNK + reply(200, OTHERS, JSON_HEAD)
    ),
    "a response a moment later": play(reply(200, JSON_BODY, JSON_HEAD), 0.02, reply(200, OTHERS, JSON_HEAD)),
}


@pytest.mark.parametrize("behaviour", BEYOND.values(), ids=BEYOND)
async def test_bytes_beyond_the_end_reach_nobody(here: Site, behaviour: Behaviour) -> None:
    here.speculative[0].script.append(behaviour)
    response = await counted(here, WHOLE)
    assert (response.status, response.body) == (200, JSON_BODY)
    await asyncio.sleep(0.05)
    response = await counted(here, WHOLE)
    assert response.json()["choices"][0]["message"]["content"] == "one two three"
    first, second = here.speculative[0].requests
    assert first.connection != second.connection, "a connection with stray bytes is not used again"


ERRORS = {
    "400": fail(400, "prompt too long"),
    "401": fail(401),
    "404": fail(404),
    "422": fail(422),
    "429": fail(429, headers=(("retry-after", "7"),)),
    "500": fail(500, "CUDA error"),
    "501": fail(501),
}


@pytest.mark.parametrize("sent", [STREAMED, WHOLE], ids=["streamed", "unstreamed"])
@pytest.mark.parametrize("status", ERRORS)
async def test_the_engines_own_error_is_passed_on(here: Site, status: str, sent: bytes) -> None:
    here.respond(ERRORS[status])
    response = await counted(here, sent)
    assert response.status == int(status)
    assert response.error["type"] == "engine_error"
    assert here.requests() == 1, "the engine's judgement is not asked for twice"
    assert response.header("retry-after") == ("7" if status == "429" else None)
    assert response.header("x-spillway-pool") == "speculative"


async def test_an_empty_answer_is_passed_on(here: Site) -> None:
    for sent, ending in ((WHOLE, reply(200, b"", JSON_HEAD)), (STREAMED, reply(200, b"", SSE_HEADERS))):
        here.respond(play(ending))
        response = await counted(here, sent)
        assert (response.status, response.body, response.complete) == (200, b"", True)


async def test_the_site_serves_on_after_all_that(here: Site) -> None:
    for _ in range(3):
        assert (await counted(here, STREAMED)).body.endswith(b"data: [DONE]\n\n")
