"""Clients that send what no client should: nothing of it is left in flight, and no engine sees what is no request."""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.behaviours import answer
from tests.support.config import config
from tests.support.raw import RawClient, Response, raw_client, request_bytes
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import LAST_CHUNK, chunk

GOOD = json.dumps(chat()).encode()
STREAMED = json.dumps(chat(stream=True)).encode()
SMUGGLED = b"POST /v1/smuggled HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"
HEAD = b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" % CHAT.encode()
LENGTH = b"content-length: %d\r\n" % len(GOOD)
CHUNKED = b"transfer-encoding: chunked\r\n"


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    def settings(fast: Any, plain: Any) -> Any:
        return config(
            fake_model(fast, plain), limits={"header_bytes": 16384, "header_seconds": 1.0, "body_seconds": 1.0}
        )

    with site(engine_thread, settings=settings) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer(gap=0.002))
    return module_site


def seen(here: Site) -> list[tuple[str, str]]:
    return [(request.method, request.target) for engine in here.engines for request in engine.requests]


async def responses(client: RawClient, seconds: float = 5.0) -> list[Response]:
    """All until the connection ends. Raises TimeoutError where it does not."""
    found: list[Response] = []
    async with asyncio.timeout(seconds):
        while True:
            response = await client.response(seconds)
            if not response.status:
                return found
            found.append(response)
            if not response.complete:
                return found


# Each is refused, or ends the connection; what follows in it is never a request of its own.
REFUSED: dict[str, tuple[bytes, int]] = {
    "length and chunked": (HEAD + LENGTH + CHUNKED + b"\r\n0\r\n\r\n" + SMUGGLED, 400),
    "chunked and length": (HEAD + CHUNKED + b"content-length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "two lengths that differ": (HEAD + LENGTH + b"content-length: 0\r\n\r\n" + GOOD + SMUGGLED, 400),
    "two lengths that agree": (HEAD + LENGTH * 2 + b"\r\n" + GOOD + SMUGGLED, 400),
    "a list of lengths": (HEAD + b"content-length: 0, 0\r\n\r\n" + SMUGGLED, 400),
    "a length with a sign": (HEAD + b"content-length: +0\r\n\r\n" + SMUGGLED, 400),
    "a negative length": (HEAD + b"content-length: -1\r\n\r\n" + SMUGGLED, 400),
    "a length in hexadecimal": (HEAD + b"content-length: 0x0\r\n\r\n" + SMUGGLED, 400),
    "a length that overflows": (HEAD + b"content-length: 18446744073709551616\r\n\r\n" + SMUGGLED, 400),
    "an empty length": (HEAD + b"content-length:\r\n\r\n" + SMUGGLED, 400),
    "chunked twice": (HEAD + CHUNKED * 2 + b"\r\n0\r\n\r\n" + SMUGGLED, 400),
    "chunked, then something": (HEAD + b"transfer-encoding: chunked, x\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "something, then chunked": (HEAD + b"transfer-encoding: x, chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 501),
    "chunked with a vertical tab": (HEAD + b"transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "a space before the colon": (HEAD + b"transfer-encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "a folded header": (HEAD + b"transfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "a folded length": (HEAD + b"x: y\r\n content-length: 0\r\n\r\n" + SMUGGLED, 400),
    "bare line feeds": (HEAD.replace(b"\r\n", b"\n") + LENGTH.replace(b"\r\n", b"\n") + b"\n" + GOOD + SMUGGLED, 400),
    "a bare line feed in a header": (HEAD + b"x: y\ncontent-length: 0\r\n\r\n" + SMUGGLED, 400),
    "a bare carriage return": (HEAD + b"x: y\rcontent-length: 0\r\n\r\n" + SMUGGLED, 400),
    "a NUL in a name": (HEAD + b"x\0y: z\r\n\r\n" + SMUGGLED, 400),
    "a NUL in a value": (HEAD + b"x: y\0z\r\n\r\n" + SMUGGLED, 400),
    "a NUL in the target": (HEAD.replace(b"/v1", b"/\0v1") + b"\r\n" + SMUGGLED, 400),
    "a line without a colon": (HEAD + b"transfer-encoding chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "no name": (HEAD + b": y\r\n\r\n" + SMUGGLED, 400),
    "a chunk's size with a line feed only": (HEAD + CHUNKED + b"\r\n0\n\r\n" + SMUGGLED, 400),
    "a chunk's size with a sign": (HEAD + CHUNKED + b"\r\n-1\r\n\r\n" + SMUGGLED, 400),
    "a chunk's size with 0x": (HEAD + CHUNKED + b"\r\n0x0\r\n\r\n" + SMUGGLED, 400),
    "a chunk's size with a space": (HEAD + CHUNKED + b"\r\n0 \r\n\r\n" + SMUGGLED, 400),
    "a chunk longer than it says": (HEAD + CHUNKED + b"\r\n2\r\n{}}0\r\n\r\n" + SMUGGLED, 400),
    "a line feed in an extension": (HEAD + CHUNKED + b"\r\n0;a\nb\r\n\r\n" + SMUGGLED, 400),
    "an endless extension": (HEAD + CHUNKED + b"\r\n2;" + b"a" * 600_000, 431),
    "a length in trailers": (HEAD + CHUNKED + b"\r\n0\r\ncontent-length: 9\r\n\r\n" + SMUGGLED, 400),
    "a body too long": (HEAD + b"content-length: 99999999\r\n\r\n" + SMUGGLED, 413),
    "CONNECT": (b"CONNECT engine:1 HTTP/1.1\r\nhost: engine:1\r\n\r\n" + SMUGGLED, 405),
    "CONNECT with a path": (HEAD.replace(b"POST", b"CONNECT") + b"\r\n" + SMUGGLED, 405),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED, 505),
    "a target with a space": (HEAD.replace(b"/v1", b"/v1 x") + b"\r\n" + SMUGGLED, 400),
    "a target with UTF-8": (HEAD.replace(b"/v1", "/v1é".encode()) + b"\r\n" + SMUGGLED, 400),
    "a target without a slash": (HEAD.replace(b"/v1", b"v1") + b"\r\n" + SMUGGLED, 400),
}


@pytest.mark.parametrize(("sent", "status"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("behind", [False, True], ids=["first", "behind a request"])
async def test_refused_and_the_connection_closed(here: Site, sent: bytes, status: int, behind: bool) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.send((request_bytes(GOOD) if behind else b"") + sent)
        got = await responses(client)
    assert [response.status for response in got] == [200] * behind + [status]
    assert all(response.complete for response in got)
    assert seen(here) == [("POST", CHAT)] * behind
    await here.gateway.assert_idle()


SERVED: dict[str, tuple[bytes, int]] = {
    "a request within a body": (
        request_bytes(b'{"model": "fake", "x": "%b"}' % SMUGGLED.replace(b"\r\n", rb"\r\n")),
        1,
    ),
    "a request as a body": (request_bytes(SMUGGLED) + request_bytes(GOOD), 1),
    "a request within a chunk": (HEAD + CHUNKED + b"\r\n" + chunk(GOOD[:-1] + b" ") + chunk(b"}") + LAST_CHUNK, 1),
    "a length by another name": (HEAD + LENGTH + b"content_length: 0\r\ntransfer_encoding: chunked\r\n\r\n" + GOOD, 1),
    "an extension that looks like a chunk": (
        HEAD + CHUNKED + b'\r\n%x;a="b;c"\r\n%b\r\n' % (len(GOOD), GOOD) + LAST_CHUNK,
        1,
    ),
    "trailers that look like a head": (
        HEAD + CHUNKED + b"\r\n" + chunk(GOOD) + b"0\r\nhost: y\r\nexpect: 100-continue\r\nx-spillway-pool: z\r\n\r\n",
        1,
    ),
    "an offer to upgrade": (HEAD + LENGTH + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n" + GOOD, 1),
    "an offer to upgrade, chunked": (
        HEAD + CHUNKED + b"connection: upgrade\r\nupgrade: h2c\r\n\r\n" + chunk(GOOD) + LAST_CHUNK,
        1,
    ),
    "an absolute target": (request_bytes(GOOD, f"http://engine:1{CHAT}"), 1),
    "a hundred requests": (request_bytes(GOOD) * 100, 100),
    "a hundred requests, every other streamed": ((request_bytes(GOOD) + request_bytes(STREAMED)) * 50, 100),
    "line ends between requests": ((request_bytes(GOOD) + b"\r\n\r\n") * 3, 3),
}


@pytest.mark.parametrize(("sent", "count"), SERVED.values(), ids=SERVED)
async def test_served_as_what_it_is(here: Site, sent: bytes, count: int) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.send(sent)
        client_error = 1 if sent.startswith(request_bytes(SMUGGLED)) else 0
        got = [await client.response(20.0) for _ in range(count + client_error)]
    assert [response.status for response in got] == [400] * client_error + [200] * count
    assert seen(here) == [("POST", CHAT)] * count
    assert len({request.header("x-request-id") for engine in here.engines for request in engine.requests}) == count
    await here.gateway.assert_idle()


HALVES = {
    "nothing": b"",
    "a method": b"POS",
    "a head": request_bytes(GOOD)[:60],
    "a head without its end": request_bytes(GOOD)[: -len(GOOD) - 2],
    "no body": request_bytes(GOOD)[: -len(GOOD)],
    "half a body": request_bytes(GOOD)[:-10],
    "half a chunk": HEAD + CHUNKED + b"\r\n20\r\n{",
    "no last chunk": HEAD + CHUNKED + b"\r\n" + chunk(GOOD),
    "no end of the trailers": HEAD + CHUNKED + b"\r\n" + chunk(GOOD) + b"0\r\nx: y\r\n",
    "a question before the body": HEAD + LENGTH + b"expect: 100-continue\r\n\r\n",
    "a request and half of the next": request_bytes(STREAMED) + request_bytes(GOOD)[:60],
    "many requests": request_bytes(STREAMED) * 20,
    "a request and garbage": request_bytes(STREAMED) + b"\x00\xff\r\n\r\n",
}


@pytest.mark.parametrize("leave", ["close", "reset", "half_close", "wait"])
@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
async def test_leaving_at_any_point_leaves_nothing(here: Site, sent: bytes, leave: str) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.send(sent)
        await asyncio.sleep(0.02)
        if leave == "wait":
            # Until the gateway has had enough, unless all is answered and the connection may idle.
            if not sent.endswith(STREAMED):
                await client.wait_closed(10.0)
        else:
            getattr(client, leave)()
        await here.gateway.assert_idle()
    assert set(seen(here)) <= {("POST", CHAT)}


PARTS = [
    *(b"POST ", b"GET ", b"PUT ", b"OPTIONS ", b"CONNECT ", b"POS", b" "),
    *(
        CHAT.encode(),
        b"/v1/models",
        b"/v1/messages",
        b"/health",
        b"http://x",
        b"*",
        b"//",
        b"/../",
        b"/%2e%2e/",
        b"?a=b",
        b"#",
    ),
    *(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b" HTTP/2.0\r\n", b" HTTP/1.1\n"),
    *(
        b"host: x\r\n",
        b"Host: y\r\n",
        LENGTH,
        b"content-length: 0\r\n",
        b"content-length: 7\r\n",
        CHUNKED,
        b"te: trailers\r\n",
    ),
    *(b"transfer-encoding: gzip, chunked\r\n", b"connection: close\r\n", b"connection: upgrade\r\nupgrade: h2c\r\n"),
    *(
        b"expect: 100-continue\r\n",
        b"x: " + b"y" * 9000 + b"\r\n",
        b"origin: https://a.b\r\n",
        b"x-spillway-pool: baseline\r\n",
    ),
    *(b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\0", b"\xff\xfe", b": ", b" folded\r\n"),
    *(
        GOOD,
        STREAMED,
        b"{}",
        b"0\r\n\r\n",
        b"2\r\n{}\r\n",
        b"5;a=b\r\nhello\r\n",
        b"fffffffffffffffff\r\n",
        chunk(GOOD),
        LAST_CHUNK,
    ),
    *(
        request_bytes(GOOD),
        request_bytes(STREAMED),
        request_bytes(b"", "/health", "GET"),
        HEAD,
        HEAD + LENGTH + b"\r\n",
    ),
    *(HEAD + CHUNKED + b"\r\n", HEAD + LENGTH + b"\r\n" + GOOD, SMUGGLED.replace(b"/v1/smuggled", b"/smuggled")),
]


async def play_at_random(here: Site, seed: int) -> None:
    """One connection's worth of parts, in pieces, and an end."""
    choice = random.Random(f"hostile {seed}")
    sent = b"".join(choice.choices(PARTS, k=choice.randint(1, 9)))
    cuts = sorted(choice.sample(range(len(sent)), min(choice.randint(0, 3), len(sent))))
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    async with raw_client(here.gateway.port) as client:
        await client.send_pieces(pieces, 0.001)
        leave = choice.choice(["close", "reset", "half_close", "read"])
        if leave == "read":
            with_end = asyncio.create_task(client.wait_closed(0.2))
            await asyncio.wait([with_end])
            assert with_end.exception() is None or isinstance(with_end.exception(), TimeoutError), (seed, sent)
        else:
            await asyncio.sleep(choice.choice([0.0, 0.001, 0.02]))
            getattr(client, leave)()
    assert client.received == b"" or client.received.startswith(b"HTTP/1.1 "), (seed, sent)


async def test_at_random(here: Site) -> None:
    """Reproduced by the seed. Engines, which parse strictly, see only what is allowed, and the gateway serves on."""
    for start in range(0, 600, 20):
        await asyncio.gather(*(play_at_random(here, seed) for seed in range(start, start + 20)))
    await here.gateway.assert_idle(10.0)
    for method, target in seen(here):
        assert target.startswith(("/v1/chat/completions", "/v1/messages")), (method, target)
        assert "//" not in target.partition("?")[0]
        assert "/.." not in target
    assert not [line for line in here.gateway.stderr if "Traceback" in line], here.gateway.output()
    here.respond(answer())
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(GOOD))
        assert (await client.response()).status == 200
