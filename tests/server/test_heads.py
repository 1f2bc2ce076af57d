"""How large a request's head may be, and how slow."""

import asyncio

import pytest

from gateway.server.protocol import time_out_overdue
from tests.server.site import Site, ask, running, serving
from tests.support.raw import raw_client, request_bytes

MOST = 4096


def head(filler: int, path: str = "/echo") -> bytes:
    """A request whose head has about so many bytes."""
    return request_bytes(b"", path, headers=[(f"x-{at}", "y" * 100) for at in range(filler // 106)])


async def test_a_head_within_the_limit() -> None:
    async with serving(header_bytes=MOST) as site, raw_client(site.port) as client:
        for _ in range(3):
            await client.send(head(MOST - 400))
            assert (await client.response()).status == 200
        assert site.refused == []


@pytest.mark.parametrize(
    "sent",
    [
        head(MOST + 400),
        request_bytes(b"", "/" + "p" * MOST),
        request_bytes(b"", headers=[("x", "y" * MOST)]),
        request_bytes(b"", headers=[("x" * MOST, "y")]),
        b"GET /" + b"p" * 2 * MOST,
        b"GET / HTTP/1.1\r\nx: " + b"y" * 2 * MOST,
        b"\r\n" * 3 * MOST,
    ],
    ids=["many headers", "path", "value", "name", "endless path", "endless value", "endless blank lines"],
)
@pytest.mark.parametrize("cut", [False, True])
async def test_a_head_over_the_limit(sent: bytes, cut: bool) -> None:
    """In one read or over many."""
    async with serving(header_bytes=MOST) as site, raw_client(site.port) as client:
        pieces = [sent[at : at + 512] for at in range(0, len(sent), 512)] if cut else [sent]
        await client.send_pieces(pieces, gap=0.001)
        response = await client.response()
        assert response.status == 431
        assert response.error["code"] == "headers_too_large"
        assert response.header("connection") == "close"
        await client.wait_closed()
        assert site.refused == [431]


async def test_a_body_does_not_count_as_head() -> None:
    """Not even for the next request, whose head comes in two reads."""
    async with serving(header_bytes=MOST) as site, raw_client(site.port) as client:
        for size in (10, 500_000, 10):
            body = b"x" * size
            sent = request_bytes(body)
            await client.send(sent[:20])
            await asyncio.sleep(0.01)
            await client.send(sent[20:])
            response = await client.response()
            assert (response.status, response.body) == (200, body)
        assert site.refused == []


async def test_a_body_and_half_of_the_next_head_in_one_read() -> None:
    async with serving(header_bytes=MOST) as site, raw_client(site.port) as client:
        first, second = request_bytes(b"x" * MOST * 2), request_bytes(b"y")
        await client.send(first + second[:20])
        assert (await client.response()).status == 200
        await client.send(second[20:])
        assert (await client.response()).body == b"y"


def overdue(site: Site, seconds: float) -> None:
    """Look at the connections as if so much time had passed."""
    loop = asyncio.get_running_loop()
    time_out_overdue(site.server.server_state.connections, loop.time() + seconds)


async def test_a_slow_head() -> None:
    async with serving(header_seconds=5) as site, raw_client(site.port) as client:
        await client.send(b"POST /echo HTTP/1.1\r\nhost: x\r\n")
        await site.connected()
        await asyncio.sleep(0.01)
        overdue(site, 4.9)
        assert site.refused == []
        overdue(site, 5.1)
        response = await client.response()
        assert (response.status, response.error["code"]) == (408, "request_timeout")
        await client.wait_closed()
        assert site.refused == [408]


async def test_a_silent_connection_is_closed_without_a_word() -> None:
    async with serving(header_seconds=5) as site, raw_client(site.port) as client:
        await site.connected()
        overdue(site, 5.1)
        await client.wait_closed()
        assert client.received == b""
        assert site.refused == []


@pytest.mark.parametrize("rest", [b"", b"\r\n"])
async def test_an_idle_connection_may_stay(rest: bytes) -> None:
    """Some clients end a body with a line end too many."""
    async with serving(header_seconds=5) as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"hi") + rest)
        assert (await client.response()).status == 200
        overdue(site, 60)
        assert (await ask(client)).status == 200


async def test_an_idle_connection_is_closed_in_the_end() -> None:
    async with serving() as site, raw_client(site.port) as client:
        assert (await ask(client)).status == 200
        overdue(site, 74)
        assert (await ask(client)).status == 200
        overdue(site, 76)
        await client.wait_closed()


async def test_a_request_under_way_is_not_overdue() -> None:
    """Neither while its body comes nor while it is answered: those have limits of their own."""
    async with (
        serving(header_seconds=5) as site,
        raw_client(site.port) as sending,
        raw_client(site.port) as waiting,
    ):
        sent = request_bytes(b"hello")
        await sending.send(sent[:-3])
        await waiting.send(request_bytes(b"", "/wait"))
        await site.connected(2)
        await asyncio.sleep(0.02)
        overdue(site, 60)
        await sending.send(sent[-3:])
        assert (await sending.response()).body == b"hello"
        site.app.gate.set()
        assert (await waiting.response()).body == b"waited"


async def test_the_server_looks_by_itself() -> None:
    async with running(header_seconds=0.2) as site, raw_client(site.port) as client:
        await client.send(b"POST")
        assert (await client.response(seconds=3)).status == 408
        assert site.refused == [408]
