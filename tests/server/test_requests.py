"""HTTP beyond the plain request: pipelines, 100-continue, HTTP/1.0, HEAD, responses without a body."""

import asyncio

import pytest

from tests.server.site import ask, serving
from tests.support.raw import RawClient, raw_client, request_bytes


async def test_many_requests_on_one_connection() -> None:
    async with serving() as site, raw_client(site.port) as client:
        for number in range(20):
            body = b"%d" % number
            response = await ask(client, body=body)
            assert (response.status, response.body, response.complete) == (200, body, True)
        assert len({id(connection) for connection in site.app.connections}) == 1


async def test_head_and_body_leave_in_one_packet() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"hello"))
        await client.read_until(b"\r\n\r\n")
        assert client.received.endswith(b"hello")


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", "/wait") + b"".join(request_bytes(b"%d" % at) for at in range(5)))
        await asyncio.wait_for(site.app.started.wait(), 3)
        assert len(site.app.scopes) == 1, "the others wait their turn"
        site.app.gate.set()
        answers = [(await client.response()).body for _ in range(6)]
        assert answers == [b"waited", b"0", b"1", b"2", b"3", b"4"]


async def test_a_stream_and_what_is_pipelined_behind_it() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", "/stream"))
        await client.read_until(b"one,")
        await client.send(request_bytes(b"next"))
        site.app.gate.set()
        assert (await client.response()).body == b"one,two"
        assert (await client.response()).body == b"next"


async def test_continue_is_sent_when_the_body_is_wanted() -> None:
    async with serving() as site, raw_client(site.port) as client:
        sent = request_bytes(b"hello", headers=[("expect", "100-continue")])
        await client.send(sent[:-5])
        await client.read_until(b"HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(sent[-5:])
        response = await client.response()
        assert (response.status, response.body, response.informational) == (200, b"hello", [100])


async def test_a_refusal_before_the_body_is_sent() -> None:
    async with serving() as site, raw_client(site.port) as client:
        sent = request_bytes(b"hello", "/refuse", headers=[("expect", "100-continue"), ("connection", "close")])
        await client.send(sent[:-5])
        response = await client.response()
        assert (response.status, response.informational) == (413, [])


async def test_a_refusal_in_the_midst_of_the_body() -> None:
    """A client that goes on sending for a while still gets to read why, and then sees the end."""
    async with serving() as site, raw_client(site.port) as client:
        sent = request_bytes(b"x" * 1_000_000, "/refuse", headers=[("connection", "close")])
        await client.send(sent[:100_000])
        await client.read_until(b"413")
        await client.send_pieces([sent[at : at + 50_000] for at in range(100_000, 500_000, 50_000)], gap=0.002)
        response = await client.response()
        assert (response.status, response.body) == (413, b"no")
        await client.wait_closed()


async def first_line(client: RawClient) -> bytes:
    return (await client.read_until(b"\r\n\r\n")).split(b"\r\n")[0]


@pytest.mark.parametrize("path", ["/echo", "/stream"])
async def test_http_1_0(path: str) -> None:
    """No chunks, and the connection closes at the end."""
    async with serving() as site, raw_client(site.port) as client:
        site.app.gate.set()
        await client.send(request_bytes(b"hello", path, version="1.0", headers=[("connection", "keep-alive")]))
        response = await client.response()
        assert response.status == 200
        assert response.body == (b"hello" if path == "/echo" else b"one,two")
        assert response.header("transfer-encoding") is None
        assert response.header("connection") == "close"
        await client.wait_closed()


@pytest.mark.parametrize("path", ["/echo", "/stream", "/empty"])
async def test_head(path: str) -> None:
    """The head comes at once and alone; the connection carries the next request."""
    async with serving() as site, raw_client(site.port) as client:
        site.app.gate.set()
        await client.send(request_bytes(b"", path, "HEAD"))
        assert (await first_line(client)).startswith(b"HTTP/1.1 20")
        assert client.received.endswith(b"\r\n\r\n")
        length = len(client.received)
        await client.send(request_bytes(b"next"))
        await client.read_until(b"next")
        assert client.received[length:].startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("status", [204, 304])
async def test_a_response_without_a_body(status: int) -> None:
    async with serving() as site, raw_client(site.port) as client:
        for _ in range(2):
            await client.send(request_bytes(b"", f"/empty?{status}"))
            response = await client.response()
            assert (response.status, response.body) == (status, b"")
            assert response.header("transfer-encoding") is None
        assert (await ask(client)).body == b"hi"


async def test_an_empty_chunked_response() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", "/empty?200"))
        response = await client.response()
        assert (response.status, response.body, response.complete) == (200, b"", True)
        assert response.header("transfer-encoding") == "chunked"
        assert (await ask(client)).body == b"hi"


async def test_a_chunked_upload() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", headers=[("transfer-encoding", "chunked")], length=False))
        for piece in (b"5\r\nhello\r\n", b"7\r\n, world\r\n", b"0\r\n\r\n"):
            await client.send(piece)
        assert (await client.response()).body == b"hello, world"


async def test_connection_close() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"hi", headers=[("connection", "close")]))
        response = await client.response()
        assert (response.body, response.header("connection")) == (b"hi", "close")
        await client.wait_closed()
