"""Models that a reload takes away, and what Redis knows of them."""

import asyncio

from gateway.config import Redis
from gateway.load.shared import SharedCounts
from gateway.models import Grant, Models
from gateway.models.placing import Ask
from tests.models.fleet import Clock, Watch, config, recover
from tests.support.redis import RedisServer


async def _names(redis: RedisServer, wanted: int) -> list[str]:
    async with asyncio.timeout(10):
        while True:
            with redis.client() as client:
                found = [str(name) for name in client.zrange("spillway:{m}:gateways", 0, -1)]
            if len(found) == wanted:
                return found
            await asyncio.sleep(0.02)


async def test_a_model_takes_leave_with_its_last_request_and_comes_back_under_another_name(redis: RedisServer) -> None:
    shared = SharedCounts(Redis(urls=(redis.url,)), "gw", lambda *_: None)
    models = Models(Watch(), Clock(), shared)
    models.reconfigure((config(name="m"), config(name="k")))
    model = models.find("m")
    assert model is not None
    for pool in model.pools.values():
        recover(pool, *pool.replicas.values())
    [first] = await _names(redis, 1)
    grant = model.decide(Ask())
    assert isinstance(grant, Grant)
    models.reconfigure((config(name="k"),))
    assert await _names(redis, 1) == [first]
    grant.lease.release()
    await _names(redis, 0)
    models.reconfigure((config(name="m"), config(name="k")))
    [second] = await _names(redis, 1)
    assert second != first
    await shared.close()
