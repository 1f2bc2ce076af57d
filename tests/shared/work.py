"""Gateways with many clients, who see to it that nobody notices what happens to Redis."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.shared.crowd import Crowd, Post
from tests.shared.fleet import Fleet, fleet
from tests.support import config as files
from tests.support.redis import RedisServer, leftovers
from tests.support.threads import EngineThread


@asynccontextmanager
async def at_work(
    thread: EngineThread, redis: files.Settings, servers: Sequence[RedisServer], clients: int = 60, **settings: Any
) -> AsyncIterator[Fleet]:
    """Two gateways, and so many clients. In the end each request has had its answer, and no server holds any."""
    async with fleet(thread, redis, policy={"threshold": 4}, **settings) as here:
        await here.joined()
        posts = [Post(*each) for each in zip(here.gateways, here.clients, strict=True)]
        people = Crowd(20261130, posts, here.engines)
        asking = [asyncio.create_task(people.client()) for _ in range(clients)]
        try:
            yield here
        finally:
            people.on = False
            await asyncio.gather(*asking)
        assert people.errors == []
        assert people.outcomes["200"] > clients
        for each in here.gateways:
            await each.assert_idle(10.0)
        await here.eventually(lambda: not any(map(_held, servers)))


def _held(server: RedisServer) -> dict[str, Any]:
    return leftovers(server) if server.process is not None else {}
