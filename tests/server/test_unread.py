"""Responses that are finished for the application, and whose last bytes the client does not take."""

import asyncio

from tests.server.site import LARGE, Site, running, serving
from tests.server.test_heads import overdue
from tests.support.raw import RawClient, raw_client, request_bytes


async def unread(site: Site, client: RawClient) -> None:
    """Ask for more than sockets hold, and read nothing."""
    await client.send(request_bytes(b"", "/large"))
    await asyncio.wait_for(site.app.started.wait(), 3)
    await asyncio.sleep(0.05)
    assert not site.server.server_state.tasks, "the application is done"
    assert site.open_connections == 1


async def test_its_connection_is_cut_after_a_while() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await unread(site, client)
        overdue(site, 74)
        overdue(site, 76)
        await asyncio.sleep(0.05)
        assert site.open_connections == 1, "closed, with bytes that are still to be taken"
        overdue(site, 77)
        await site.connected(0)
        response = await client.response()
        assert not response.complete
        assert len(response.body) < LARGE


async def test_who_takes_the_rest_in_time_has_all_of_it() -> None:
    async with serving() as site, raw_client(site.port) as client:
        await unread(site, client)
        overdue(site, 76)
        response = await client.response(30.0)
        assert response.complete
        assert len(response.body) == LARGE
        await client.wait_closed()


async def test_a_stop_waits_for_it_no_longer_than_that() -> None:
    async with running() as site, raw_client(site.port) as client:
        await unread(site, client)
        site.server.stop(600)
        await asyncio.sleep(0.3)
        assert site.open_connections == 1
        overdue(site, 76)
        await site.connected(0)
        assert not (await client.response()).complete
