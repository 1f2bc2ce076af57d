"""Models that a reload takes away, and what Redis knows of them."""

import asyncio
import signal

import pytest

from gateway.config import Redis
from gateway.load.shared import SharedCounts
from gateway.models import Grant, Models
from gateway.models.placing import Ask
from tests.models.fleet import Clock, Watch, config, recover
from tests.shared.fleet import QUICK, Fleet, fleet
from tests.support import config as files
from tests.support.redis import RedisServer, leftovers, section
from tests.support.site import CHAT, chat, fake_model
from tests.support.threads import EngineThread

ASKS = 9


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


@pytest.mark.parametrize(("held", "end"), [(0, "goes on"), (0, "is killed"), (2, "goes on")])
async def test_requests_that_wait_for_redis_when_their_model_is_retired(
    held: int, end: str, engine_thread: EngineThread, redis: RedisServer
) -> None:
    """Each is answered before Redis is, and what Redis does for them later is undone."""
    patience = 1.0
    settings = {**QUICK, **section(redis, heartbeat_seconds=patience, expiry_seconds=60.0, timeout_seconds=patience)}
    async with fleet(engine_thread, settings, gateways=1, policy={"threshold": 4}) as here:
        [gateway], [client] = here.gateways, here.clients
        await here.joined()
        await here.hold(held)
        redis.pause()
        asks = [asyncio.create_task(client.post(CHAT, json=chat(stream=at % 2 == 0))) for at in range(ASKS)]
        await asyncio.sleep(0.3)
        await retire(here, settings)
        answers = await asyncio.wait_for(asyncio.gather(*asks), 10)
        assert [each.status_code for each in answers] == [503] * ASKS
        await gateway.counted("spillway_requests_total", ASKS, model="fake")
        if end == "goes on":
            redis.resume()
        else:
            await asyncio.to_thread(redis.kill)
            await asyncio.to_thread(redis.start)
        await here.joined()
        await here.release()
        await gateway.assert_idle()
        await gateway.eventually(lambda: not leftovers(redis), 5, lambda: leftovers(redis))
        assert await here.hold(1, model="other") == [("speculative", "under_threshold")]
        with redis.client() as admin:
            assert admin.zcard("spillway:{fake}:gateways") == 0


async def retire(here: Fleet, redis: files.Settings) -> None:
    """Another model takes the place of `fake` in the gateway's file."""
    [gateway] = here.gateways
    other = fake_model(here.speculative, here.baseline, name="other")
    gateway.write_config(files.config(other, redis=redis))
    gateway.process.send_signal(signal.SIGHUP)
    await here.eventually(lambda: gateway.status()["models"][0]["name"] == "other")
