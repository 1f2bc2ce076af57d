"""What is no request, and what is none that can be served: turned away, after what came before it was answered."""

import asyncio

import pytest

from tests.server.site import Site, ask, serving
from tests.server.test_heads import overdue
from tests.support.raw import RawClient, Response, raw_client, request_bytes

MOST = 4096
GARBAGE = b"\x00\x01garbage\r\n\r\n"


async def turned_away(site: Site, client: RawClient, status: int, code: str) -> Response:
    """The refusal that comes next, and that the connection ends with it."""
    response = await client.response()
    assert (response.status, response.error["code"]) == (status, code)
    assert response.header("connection") == "close"
    assert response.complete
    await client.wait_closed()
    assert site.refused == [status]
    return response


@pytest.mark.parametrize("garbage", [GARBAGE, b"GET / HTTP/x\r\n\r\n", b"NOPE / HTTP/1.1\r\n\r\n"])
async def test_garbage(garbage: bytes) -> None:
    async with serving() as site, raw_client(site.port) as client:
        await ask(client)
        await client.send(garbage)
        await turned_away(site, client, 400, "invalid_http")
        assert len(site.app.scopes) == 1


@pytest.mark.parametrize(
    ("line", "status"),
    [
        *((b"GET /echo HTTP/%b" % version, 505) for version in (b"2.0", b"3.0", b"0.9", b"1.2", b"9.9", b"0.0")),
        (b"GET /echo", 505),  # as in HTTP/0.9
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n", 505),  # how a connection of HTTP/2 begins
        *((b"GET /echo HTTP/%b" % version, 400) for version in (b"2", b"11", b"1.10", b"", b"-1.1", b"1.x")),
        (b"GET /echo HTTPS/1.1", 400),
    ],
)
async def test_other_versions_of_http(line: bytes, status: int) -> None:
    code = "http_version_not_supported" if status == 505 else "invalid_http"
    async with serving() as site, raw_client(site.port) as client:
        await client.send(line + b"\r\nhost: x\r\n\r\n")
        response = await turned_away(site, client, status, code)
        assert "HTTP/1.1" in response.error["message"]
        assert response.error["type"] == "invalid_request_error"
        assert site.app.scopes == []


@pytest.mark.parametrize(("version", "hosts"), [("1.1", 0), ("1.1", 2), ("1.0", 2)])
async def test_other_numbers_of_hosts(version: str, hosts: int) -> None:
    """RFC 9112, section 3.2: one, which HTTP/1.0 may leave out."""
    lines = [f"GET /echo HTTP/{version}", *["host: x"] * hosts, "", ""]
    async with serving() as site, raw_client(site.port) as client:
        await client.send("\r\n".join(lines).encode())
        await turned_away(site, client, 400, "invalid_http")


async def test_http_1_0_needs_no_host() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(b"GET /echo HTTP/1.0\r\n\r\n")
        assert (await client.response()).status == 200


@pytest.mark.parametrize("coding", ["gzip, chunked", "xchunked", "identity", "gzip", "chunked;x=1"])
async def test_a_body_that_is_coded_otherwise(coding: str) -> None:
    async with serving() as site, raw_client(site.port) as client:
        head = request_bytes(b"", headers=[("transfer-encoding", coding)], length=False)
        await client.send(head + b"2\r\nhi\r\n0\r\n\r\n")
        response = await client.response()
        assert response.status in (400, 501)
        assert site.app.scopes == []
        await client.wait_closed()


async def test_the_path_of_a_target_in_absolute_form() -> None:
    async with serving() as site:
        for target, path in (("http://x", "/"), ("http://x/echo?a=1", "/echo"), ("http://x?a=1", "/")):
            async with raw_client(site.port) as client:
                await client.send(request_bytes(b"", target, "GET"))
                assert (await client.response()).status == 200
            assert site.app.scopes[-1]["path"] == path


AFTER = {
    "garbage": (GARBAGE, 400, "invalid_http"),
    "another version": (b"GET /echo HTTP/2.0\r\nhost: x\r\n\r\n", 505, "http_version_not_supported"),
    "a large head": (request_bytes(b"", headers=[("x", "y" * 600_000)]), 431, "headers_too_large"),
    "CONNECT": (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method_not_allowed"),
    "a bad body": (
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        400,
        "invalid_http",
    ),
}


@pytest.mark.parametrize(("sent", "status", "code"), AFTER.values(), ids=AFTER)
@pytest.mark.parametrize("ahead", [1, 3])
@pytest.mark.parametrize("path", ["/stream", "/wait"])
@pytest.mark.parametrize("apart", [False, True], ids=["at once", "while it is answered"])
async def test_what_comes_before_is_answered(
    path: str, ahead: int, apart: bool, sent: bytes, status: int, code: str
) -> None:
    """In full, and in order (RFC 9112, section 9.3.2); then comes the refusal. nginx does the same."""
    async with serving(header_bytes=MOST) as site, raw_client(site.port) as client:
        asked = request_bytes(b"", path) + request_bytes(b"next") * (ahead - 1)
        await client.send(asked if apart else asked + sent)
        await asyncio.wait_for(site.app.started.wait(), 3)
        if path == "/stream":
            await client.read_until(b"one,")
        if apart:
            await client.send(sent)
            await client.send(b"and more of it")
        await asyncio.sleep(0.02)
        assert b"%d" % status not in client.received
        site.app.gate.set()
        first = await client.response()
        assert (first.complete, first.body) == (True, b"one,two" if path == "/stream" else b"waited")
        assert [(await client.response()).body for _ in range(ahead - 1)] == [b"next"] * (ahead - 1)
        await turned_away(site, client, status, code)
        assert len(site.app.scopes) == ahead
    assert not site.server.server_state.tasks


async def test_a_slow_head_behind_a_request_does_not_end_it() -> None:
    async with serving(header_seconds=5) as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", "/stream") + b"GET /echo HTT")
        await client.read_until(b"one,")
        overdue(site, 6)
        overdue(site, 12)
        await asyncio.sleep(0.02)
        site.app.gate.set()
        assert (await client.response()).body == b"one,two"
        await turned_away(site, client, 408, "request_timeout")


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_a_client_that_leaves_after_garbage(leave: str) -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", "/wait") + GARBAGE)
        await asyncio.wait_for(site.app.started.wait(), 3)
        told = asyncio.Event()
        site.app.connections[-1].on_lost = told.set
        getattr(client, leave)()
        await asyncio.wait_for(told.wait(), 3)
        await site.connected(0)


async def test_nothing_is_said_twice_of_one_request() -> None:
    """Its response came before its body, which then turns out to be none."""
    head = request_bytes(b"", "/refuse", headers=[("transfer-encoding", "chunked")], length=False)
    async with serving() as site, raw_client(site.port) as client:
        await client.send(head)
        assert (await client.response()).status == 413
        await client.send(b"zz\r\n")
        await client.wait_closed()
        assert client.received.count(b"HTTP/1.1") == 1
