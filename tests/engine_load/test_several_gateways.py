"""Gateways that count in Redis: what one of them sends is not from elsewhere for the other."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.shared.fleet import Fleet, fleet
from tests.support.redis import RedisServer, redis_server, section
from tests.support.threads import EngineThread

THRESHOLD = 5
ENGINE_LOAD = {"engine": "llamacpp", "engine_load": {"enabled": True, "interval_seconds": 0.2}}


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


def say(here: Fleet, requests: int) -> None:
    """The speculative engine says that it holds so many."""
    here.speculative[0].metrics = f"llamacpp:requests_processing {requests}\nllamacpp:requests_deferred 0\n"
    here.baseline[0].metrics = "llamacpp:requests_processing 0\n"


def outside(here: Fleet) -> list[int]:
    """What each gateway takes for requests from elsewhere."""
    return [int(each.pool_status("speculative")["outside"]) for each in here.gateways]


def said(here: Fleet) -> list[int | None]:
    """What the engine said to each gateway."""
    loads = [each.pool_status("speculative")["replicas"][0]["engine_load"] for each in here.gateways]
    return [load and load["count"] for load in loads]


async def test_the_others_requests_are_known(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), pool=ENGINE_LOAD, policy={"threshold": THRESHOLD}) as here:
        await here.joined()
        say(here, 0)
        assert await here.hold(3, 0) == [("speculative", "under_threshold")] * 3
        say(here, 3)
        await here.eventually(lambda: said(here) == [3, 3])
        seen = []
        for _ in range(10):
            seen += await asyncio.to_thread(outside, here)
            await asyncio.sleep(0.1)
        assert set(seen) == {0}
        say(here, THRESHOLD)
        await here.eventually(lambda: outside(here) == [2, 2])
        assert await here.hold(1, 1) == [("baseline", "engine_load")]
        say(here, 3)
        await here.eventually(lambda: outside(here) == [0, 0])
        assert await here.hold(2, 1) == [("speculative", "under_threshold")] * 2
        await here.release()


async def test_the_others_requests_while_redis_is_away(engine_thread: EngineThread, redis: RedisServer) -> None:
    """They show in what the engine says, and it is compared as a share, like the limit."""
    async with fleet(engine_thread, section(redis), pool=ENGINE_LOAD, policy={"threshold": 6}) as here:
        await here.joined()
        say(here, 0)
        assert await here.hold(4) == [("speculative", "under_threshold")] * 4
        say(here, 4)
        await asyncio.to_thread(redis.kill)
        await here.alone()
        await here.eventually(lambda: outside(here) == [2, 2])
        assert await here.hold(1, 0) == [("speculative", "under_threshold")]
        say(here, 12)
        await here.eventually(lambda: outside(here) == [9, 10])
        assert await here.hold(1, 1) == [("baseline", "engine_load")]
        await asyncio.to_thread(redis.start)
        await here.joined()
        await here.eventually(lambda: outside(here) == [7, 7])
        assert await here.hold(1, 1) == [("baseline", "engine_load")]
        say(here, 5)
        await here.eventually(lambda: outside(here) == [0, 0])
        assert await here.hold(2) == [("speculative", "under_threshold"), ("baseline", "over_threshold")]
        await here.release()
