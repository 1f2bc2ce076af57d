"""One gateway's line to the counts, in this process: when what goes, and when what has come is taken in."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gateway.config import Redis
from gateway.load.shared import SharedCounts
from gateway.models import Grant, Model, Models
from gateway.models.asking import Asking
from gateway.models.placing import Ask
from tests.models.fleet import Clock, Watch, config, recover
from tests.support.redis import RedisServer, leftovers

BEAT = 60.0  # seconds: nothing goes with a heartbeat


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while True:
            if holds():
                return
            await asyncio.sleep(0)


@asynccontextmanager
async def joined(redis: RedisServer, gateway: str = "gw") -> AsyncIterator[tuple[SharedCounts, Model]]:
    shared = SharedCounts(
        Redis(urls=(redis.url,), heartbeat_seconds=BEAT, expiry_seconds=4 * BEAT, timeout_seconds=5.0),
        gateway,
        lambda *_: None,
    )
    models = Models(Watch(), Clock(), shared)
    models.reconfigure((config(name="m"),))
    model = models.find("m")
    assert model is not None
    for pool in model.pools.values():
        recover(pool, *pool.replicas.values())
    await until(lambda: shared.state == "up")
    try:
        yield shared, model
    finally:
        await shared.close()


def ask(model: Model) -> Asking:
    return model.ask(Ask(), lambda: None)


async def answered(asks: list[Asking]) -> list[Grant]:
    grants = []
    await until(lambda: all(each.placed is not None for each in asks))
    for each in asks:
        grant = each.take()
        assert isinstance(grant, Grant)
        grants.append(grant)
    return grants


def steps(redis: RedisServer) -> int:
    """That the server was asked for so far."""
    with redis.client() as client:
        stats = client.info("commandstats")
    assert isinstance(stats, dict)
    return int(stats.get("cmdstat_evalsha", {"calls": 0})["calls"])


async def emptied(redis: RedisServer) -> None:
    await until(lambda: not leftovers(redis))


async def test_a_reply_is_taken_in_while_the_event_loop_is_held_up(redis: RedisServer) -> None:
    async with joined(redis) as (shared, model):
        woken = []
        asking = model.ask(Ask(), lambda: woken.append(True))
        deadline = time.monotonic() + 10
        while asking.placed is None:
            assert time.monotonic() < deadline
            shared.look()
        assert woken == [True]
        [grant] = await answered([asking])
        await asyncio.sleep(0.05)
        assert shared.state == "up", "the loop minds that nothing was left to read"
        grant.lease.release()
        await emptied(redis)


async def test_requests_of_one_turn_share_steps(redis: RedisServer) -> None:
    async with joined(redis) as (_, model):
        before, crowd = steps(redis), 64
        grants = await answered([ask(model) for _ in range(crowd)])
        asked = steps(redis) - before
        assert asked <= crowd / 4
        assert model.inflight == crowd
        for grant in grants:
            grant.lease.release()
        await emptied(redis)
        assert steps(redis) - before - asked <= 2


async def test_what_is_given_back_rides_with_the_next_request(redis: RedisServer) -> None:
    async with joined(redis) as (_, model):
        [grant] = await answered([ask(model)])
        before, turns = steps(redis), 20
        for _ in range(turns):
            grant.lease.release()
            [grant] = await answered([ask(model)])
        assert steps(redis) - before < 1.5 * turns
        grant.lease.release()
        await emptied(redis)


async def test_what_a_gateway_had_not_yet_given_back_when_it_died_is_forgotten_with_it(redis: RedisServer) -> None:
    async with joined(redis) as (_, model), joined(redis, "other") as (_, other):
        grants = await answered([ask(model) for _ in range(3)])
        for grant in grants:
            grant.lease.release()
        assert model.sharing is not None
        model.sharing.link.part()  # as when it is killed: nothing more is sent
        with redis.client() as client:
            assert client.hgetall("spillway:{m}:leases:gw.1")
            client.zadd("spillway:{m}:gateways", {"gw.1": 1})
        [grant] = await answered([ask(other)])
        grant.lease.release()
        await emptied(redis)


@pytest.mark.parametrize("crowd", [1, 9])
async def test_scripts_flushed_with_requests_on_their_way(crowd: int, redis: RedisServer) -> None:
    async with joined(redis) as (shared, model):
        with redis.client() as client:
            client.script_flush()
        grants = await answered([ask(model) for _ in range(crowd)])
        assert shared.failures == {}
        assert model.inflight == crowd
        for grant in grants:
            grant.lease.release()
        await emptied(redis)


async def test_nothing_is_read_from_a_connection_that_has_ended(redis: RedisServer) -> None:
    async with joined(redis) as (shared, model):
        asks = [ask(model)]
        redis.kill()
        await answered(asks)  # decided here
        for _ in range(100):
            shared.look()
            await asyncio.sleep(0)
        assert shared.state != "up"
