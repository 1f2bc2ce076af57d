"""One GET to an engine, outside the data plane."""

import asyncio

import httpx

from gateway.pools.replica import Replica


async def ask(client: httpx.AsyncClient, replica: Replica, path: str) -> httpx.Response:
    """Ask with the pool's key, within `health.timeout` for each read and twice that for all.

    Raises:
        httpx.HTTPError: no connection, no answer in time, or no HTTP.
    """
    headers = {"authorization": f"Bearer {replica.config.api_key}"} if replica.config.api_key else {}
    seconds = replica.health.settings.timeout
    try:
        # httpx's limit is on each read: an answer that trickles in would never end.
        async with asyncio.timeout(2 * seconds):
            return await client.get(replica.url + path, headers=headers, timeout=seconds)
    except TimeoutError as error:
        raise httpx.ReadTimeout(f"no whole answer within {2 * seconds:g} s") from error
