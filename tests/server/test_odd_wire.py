"""What HTTP allows and few clients send: trailers, offers of another protocol, stray line ends."""

import asyncio

import pytest

from tests.server.site import serving
from tests.support.raw import raw_client

CHUNKED = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"


async def test_trailers_are_not_headers() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(CHUNKED)
        await asyncio.wait_for(site.app.started.wait(), 3)
        before = list(site.app.scopes[0]["headers"])
        await client.send(b"Content-Type: text/evil\r\nX-Trail: 1\r\n\r\n")
        assert (await client.response()).body == b"hi"
        assert site.app.scopes[0]["headers"] == before


async def test_endless_trailers_end_the_connection() -> None:
    async with serving(header_bytes=8192) as site, raw_client(site.port) as client:
        await client.send(CHUNKED)
        await asyncio.wait_for(site.app.started.wait(), 3)
        for _ in range(20):
            await client.send(b"X-Filler: %b\r\n" % (b"y" * 1000))
        await client.wait_closed()
        await site.connected(0)


@pytest.mark.parametrize("offer", [b"h2c", b"websocket"])
@pytest.mark.parametrize(
    "framing", [b"Content-Length: 2\r\n\r\nhi", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"]
)
async def test_an_offer_to_upgrade_is_declined(offer: bytes, framing: bytes) -> None:
    """Body and all that follows on the connection are read as what they are (curl --http2 sends this)."""
    head = (
        b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: %b\r\nHTTP2-Settings:\r\n"
    )
    async with serving() as site, raw_client(site.port) as client:
        await client.send(head % offer + framing + b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
        first = await client.response()
        assert (first.status, first.body) == (200, b"hi")
        assert (await client.response()).status == 200
        assert [scope["path"] for scope in site.app.scopes] == ["/echo", "/second"]
        assert not {b"upgrade", b"http2-settings", b"connection"} & {name for name, _ in site.app.scopes[0]["headers"]}


async def test_many_offers_in_one_read() -> None:
    """They nest nothing."""
    sent = b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    async with serving() as site, raw_client(site.port) as client:
        await client.send(sent * 1500)
        for _ in range(1500):
            assert (await client.response()).status == 200
        assert len(site.app.scopes) == 1500


async def test_connect_is_refused() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await client.response()).status == 405
        assert site.refused == [405]


async def test_a_stray_line_end_keeps_no_connection_open() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.response()
        await client.send(b"\r\n")
        await asyncio.sleep(0.05)
        connection = site.app.connections[0]
        assert connection.overdue(connection.loop.time() + 3600)


BAD_BODIES = {
    "a chunk's size that overflows": CHUNKED.replace(b"\r\n2\r\n", b"\r\nfffffffffffffffff1\r\n"),
    "a chunk's size that is none": CHUNKED.replace(b"\r\n2\r\n", b"\r\nzz\r\n"),
}


@pytest.mark.parametrize("sent", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.parametrize("apart", [False, True], ids=["at once", "after the head"])
async def test_a_body_that_can_not_be_read_is_refused(sent: bytes, apart: bool) -> None:
    """With an answer, as long as none has begun; and the application hears no more of it."""
    async with serving() as site, raw_client(site.port) as client:
        head, body = sent.split(b"\r\n\r\n", 1)
        await client.send(head + b"\r\n\r\n" + (b"" if apart else body))
        if apart:
            await asyncio.wait_for(site.app.started.wait(), 3)
            await client.send(body)
        response = await client.response()
        assert (response.status, response.error["code"]) == (400, "invalid_http")
        await client.wait_closed()
        await site.connected(0)
        assert not site.server.server_state.tasks


async def test_a_body_that_can_not_be_read_after_an_answer_has_begun() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(CHUNKED[: CHUNKED.index(b"2\r\n")].replace(b"/echo", b"/stream"))
        await asyncio.wait_for(site.app.started.wait(), 3)
        await client.send(b"zz\r\n")
        assert not (await client.response()).complete
        site.app.gate.set()
        await site.connected(0)
