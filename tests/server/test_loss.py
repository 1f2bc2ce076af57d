"""Connections that end: the application hears of it, once, and can end them itself."""

import asyncio
from collections.abc import Callable

import pytest

from tests.server.site import Site, ask, running, serving
from tests.support.raw import RawClient, raw_client, request_bytes


class Losses:
    """How often the loss of a site's newest connection was told."""

    def __init__(self, site: Site) -> None:
        self.count = 0
        self.told = asyncio.Event()
        self.connection = site.app.connections[-1]
        self.connection.on_lost = self._tell

    def _tell(self) -> None:
        self.count += 1
        self.told.set()

    async def settle(self) -> int:
        """How often, after a while in which it might be told again."""
        await asyncio.wait_for(self.told.wait(), 3)
        await asyncio.sleep(0.02)
        return self.count


async def waiting_client(site: Site, client: RawClient, path: str = "/wait") -> Losses:
    """A request that is being answered."""
    await client.send(request_bytes(b"", path))
    await asyncio.wait_for(site.app.started.wait(), 3)
    if path == "/stream":
        await client.read_until(b"one,")
    return Losses(site)


@pytest.mark.parametrize("leave", [RawClient.close, RawClient.reset, RawClient.half_close])
@pytest.mark.parametrize("path", ["/wait", "/stream"])
async def test_a_client_that_leaves(leave: Callable[[RawClient], None], path: str) -> None:
    async with serving() as site, raw_client(site.port) as client:
        losses = await waiting_client(site, client, path)
        assert not losses.connection.lost
        leave(client)
        assert await losses.settle() == 1
        assert losses.connection.lost
        site.app.gate.set()
        await site.connected(0)


async def test_a_half_closed_client_gets_what_the_gateway_says_itself() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"hello", "/own"))
        client.half_close()
        await asyncio.wait_for(site.app.started.wait(), 3)
        await asyncio.sleep(0.02)
        site.app.gate.set()
        response = await client.response()
        assert (response.status, response.body) == (200, b"waited")
        await client.wait_closed()
        await site.connected(0)


@pytest.mark.parametrize("sent", [request_bytes(b"hello", "/own")[:-1], request_bytes(b"", "/own") * 2])
async def test_a_half_closed_client_that_is_still_asking_is_gone(sent: bytes) -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(sent)
        client.half_close()
        await client.wait_closed()
        await site.connected(0)


async def test_an_abort_is_a_loss_too() -> None:
    async with serving() as site, raw_client(site.port) as client:
        losses = await waiting_client(site, client)
        losses.connection.abort()
        losses.connection.abort()
        assert await losses.settle() == 1
        await client.wait_closed()


async def test_a_loss_behind_a_pipeline() -> None:
    """Reading is paused while a request waits behind another, so it shows at the next write; then it is told once."""
    async with serving() as site, raw_client(site.port) as client:
        losses = await waiting_client(site, client, "/stream")
        await client.send(request_bytes(b"next"))
        await asyncio.sleep(0.02)
        client.reset()
        site.app.gate.set()
        assert await losses.settle() == 1
        assert losses.connection.lost
        assert len(site.app.scopes) == 1, "nobody is left to answer"


async def test_who_listens_no_more_is_not_told() -> None:
    async with serving() as site, raw_client(site.port) as client:
        losses = await waiting_client(site, client)
        losses.connection.on_lost = None
        client.close()
        await site.connected(0)
        assert losses.count == 0
        assert losses.connection.lost


async def test_a_torn_response_does_not_look_whole() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await client.send(request_bytes(b"", "/torn"))
        response = await client.response()
        assert not response.complete


async def test_a_connection_lost_between_requests() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await ask(client)
        losses = Losses(site)
        client.close()
        assert await losses.settle() == 1


async def test_a_stop_lets_responses_end() -> None:
    """And closes what is idle; nothing more is accepted."""
    async with running() as site, raw_client(site.port) as busy, raw_client(site.port) as idle:
        await ask(idle)
        await busy.send(request_bytes(b"", "/stream"))
        await busy.read_until(b"one,")
        site.server.stop(5)
        await idle.wait_closed()
        with pytest.raises(ConnectionError):
            await site.ask()
        site.app.gate.set()
        assert (await busy.response()).body == b"one,two"
        await busy.wait_closed()


async def test_what_outlives_the_drain_is_cut_off() -> None:
    async with running() as site, raw_client(site.port) as client:
        await waiting_client(site, client)
        site.server.stop(0)
        await client.wait_closed()
        assert site.app.cancelled == 1


async def test_force_cuts_off_at_once() -> None:
    async with running() as site, raw_client(site.port) as client:
        await waiting_client(site, client)
        site.server.stop(600)
        site.server.force()
        await client.wait_closed()
        assert site.app.cancelled == 1
