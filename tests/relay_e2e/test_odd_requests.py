"""Requests that are unusual but right: they are served."""

import json
from collections.abc import Iterator

import pytest

from tests.support.behaviours import answer, play
from tests.support.raw import exchange, raw_client, request_bytes
from tests.support.site import CHAT, Site, chat, site
from tests.support.threads import EngineThread
from tests.support.wire import LAST_CHUNK, chunk, json_reply

JSON = ("content-type", "application/json")
GOOD = b'{"model": "fake", "messages": []}'
CHUNKED_HEAD = request_bytes(b"", headers=[JSON, ("transfer-encoding", "chunked")], length=False)


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    with site(engine_thread) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


SERVED: dict[str, bytes] = {
    "a chunked body": CHUNKED_HEAD + chunk(GOOD[:9]) + chunk(GOOD[9:]) + LAST_CHUNK,
    "a chunked body with extensions and trailers": CHUNKED_HEAD
    + b"%x;a=b\r\n%b\r\n" % (len(GOOD), GOOD)
    + b"0\r\nx-trailer: 1\r\n\r\n",
    "unknown fields, nested": request_bytes(b'{"x": ' + b"[" * 200 + b"]" * 200 + b', "model": "fake"}'),
    "model escaped": request_bytes(rb'{"model": "f\u0061ke"}'),
    "stream is null": request_bytes(b'{"model": "fake", "stream": null, "stream_options": null}'),
    "white space around": request_bytes(b" \r\n\t" + GOOD + b"\n\n"),
    "JSON with a charset": request_bytes(GOOD, headers=[("content-type", "Application/JSON; charset=utf-8")]),
    "no content type": request_bytes(GOOD, headers=[]),
    "a query string": request_bytes(GOOD, path=f"{CHAT}?api-version=1"),
    "any other path of the API": request_bytes(GOOD, path="/v1/moderations"),
    "generate": request_bytes(GOOD, path="/generate"),
    "header names in odd case": request_bytes(GOOD, headers=[("CONTENT-type", "application/json")]),
    "a multipart form": request_bytes(
        b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n\x00\xff\r\n'
        b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nfake\r\n--b--\r\n',
        path="/v1/audio/transcriptions",
        headers=[("content-type", "multipart/form-data; boundary=b")],
    ),
}


@pytest.mark.parametrize("sent", SERVED.values(), ids=SERVED)
async def test_odd_request_is_served(here: Site, sent: bytes) -> None:
    before = here.gateway.metrics().total("spillway_requests_total", code="200")
    response = await exchange(here.gateway.port, sent)
    assert (response.status, response.complete) == (200, True), response
    assert here.requests() == 1
    await here.gateway.counted("spillway_requests_total", before + 1, code="200")
    await here.gateway.assert_idle()


async def test_a_body_arrives_as_it_was_sent(here: Site) -> None:
    sent = (
        '{ "model":"fake",\n "messages": [{"role": "user", "content": "\u00e9\U0001f600 \\u0000"}], "n": 1e0 }'.encode()
    )
    response = await exchange(here.gateway.port, request_bytes(sent, path=f"{CHAT}?a=%2F&b"))
    assert response.status == 200
    request = await here.speculative[0].next_request()
    assert request.body == sent
    assert request.target == f"{CHAT}?a=%2F&b"


@pytest.mark.parametrize(
    "sent",
    [
        b'{"model": "fake", "messages": [{"role": "user", "content": "\xff\xfe"}]}',
        b'{"model": "fake", "stream": "yes"}',
        b'{"model": "fake", "stream": false, "stream_options": [1]}',
        b'{"model": "fake", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model": "fake", "n": 1, "n": 2}',
    ],
    ids=["bad UTF-8", "stream is a string", "stream_options is a list", "100,000 levels", "a key twice"],
)
async def test_what_only_the_engine_can_judge_is_passed_on_or_refused(here: Site, sent: bytes) -> None:
    here.respond(play(json_reply(200, {})))
    response = await exchange(here.gateway.port, request_bytes(sent))
    if response.status == 200:
        assert (await here.speculative[0].next_request()).body == sent
    else:
        assert response.status == 400
        assert response.error
        assert here.requests() == 0
    await here.gateway.assert_idle()


async def test_a_client_may_ask_before_it_sends(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.send(
            request_bytes(
                b"", headers=[JSON, ("expect", "100-continue"), ("content-length", str(len(GOOD)))], length=False
            )
        )
        await client.read_until(b"HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(GOOD)
        response = await client.response()
        assert (response.status, response.informational) == (200, [100])


@pytest.mark.parametrize("stream", [False, True])
async def test_an_http_1_0_client_is_served(here: Site, stream: bool) -> None:
    sent = json.dumps(chat(stream)).encode()
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(sent, version="1.0"))
        await client.wait_closed()
        response = await client.response()
    assert response.status == 200
    assert response.header("transfer-encoding") is None
    assert response.body.endswith(b"data: [DONE]\n\n") if stream else json.loads(response.body)


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/models", CHAT, "/nowhere"])
async def test_head_is_answered(here: Site, path: str) -> None:
    async with here.client() as client:
        for _ in range(2):
            response = await client.head(path, timeout=2.0)
            assert response.status_code in (200, 404, 405)
            assert response.content == b""


async def test_pipelined_requests_are_answered_in_order(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        sent = [GOOD, b'{"model": "nope"}', json.dumps(chat(stream=True)).encode(), GOOD]
        await client.send(b"".join(request_bytes(one) for one in sent))
        responses = [await client.response() for _ in sent]
    assert [response.status for response in responses] == [200, 404, 200, 200]
    assert all(response.complete for response in responses)
    assert responses[2].body.endswith(b"data: [DONE]\n\n")
    await here.gateway.assert_idle()


async def test_a_request_in_single_bytes_is_served(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.send_pieces((bytes([byte]) for byte in request_bytes(GOOD)), 0.0)
        assert (await client.response()).status == 200


async def test_a_long_prompt_is_served(here: Site) -> None:
    content = "x" * 900_000
    async with here.client() as client:
        response = await client.post(CHAT, json=chat(messages=[{"role": "user", "content": content}]))
    assert response.status_code == 200
    request = await here.speculative[0].next_request()
    assert request.json()["messages"][0]["content"] == content
