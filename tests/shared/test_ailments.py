"""Redis is there, and of no use, or loses what it had, while many clients ask: nobody notices, and it passes."""

import asyncio

from tests.shared.faults import AILMENTS, COUNTS, nonsense, replaced
from tests.shared.fleet import Fleet
from tests.shared.work import at_work
from tests.support.redis import RedisServer, redis_server, section
from tests.support.threads import EngineThread


def said(here: Fleet) -> list[list[str]]:
    """By gateway, what its log says of where it decides."""
    return [
        [line["message"] for line in list(each.log) if line.get("message", "").startswith(("redis: ", "redis at "))]
        for each in here.gateways
    ]


async def test_every_ailment_and_then_data_lost_or_spoilt_and_nonsense(engine_thread: EngineThread) -> None:
    with redis_server("--enable-debug-command", "yes") as redis:
        async with at_work(engine_thread, section(redis), [redis]) as here:
            for reason, ailment in AILMENTS.items():
                before = said(here)
                async with ailment(redis):
                    await here.failing(reason)
                await here.joined()
                for old, now in zip(before, said(here), strict=True):
                    assert len(now) == len(old) + 2, now[len(old) :]
                    went, came = now[-2:]
                    assert "this gateway decides by itself" in went, now
                    assert "in-flight counts are shared, gateways: " in came, now
            await _lose_and_spoil(redis)
            await here.joined()
            async with replaced(nonsense)(redis):
                await here.failing("an answer can't be made use of")
            await here.joined()


async def _lose_and_spoil(redis: RedisServer) -> None:
    with redis.client() as client:
        for _ in range(3):
            client.flushall()
            await asyncio.sleep(0.2)
            client.set(COUNTS, "of another kind")
            await asyncio.sleep(0.2)
