"""Redis fails in every way there is: requests go on, and the counts are right again when it is back."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.shared.fleet import Fleet, fleet
from tests.support.redis import RedisServer, leftovers, redis_server, section
from tests.support.threads import EngineThread

UNDER, OVER = ("speculative", "under_threshold"), ("baseline", "over_threshold")


async def kill(redis: RedisServer) -> None:
    await asyncio.to_thread(redis.kill)


async def restart(redis: RedisServer) -> None:
    await asyncio.to_thread(redis.start)


async def pause(redis: RedisServer) -> None:
    redis.pause()


async def resume(redis: RedisServer) -> None:
    redis.resume()


async def configure(redis: RedisServer, name: str, value: str) -> None:
    with redis.client() as client:
        client.config_set(name, value)


async def run_out_of_memory(redis: RedisServer) -> None:
    await configure(redis, "maxmemory", "1")


async def find_memory(redis: RedisServer) -> None:
    await configure(redis, "maxmemory", "0")


async def become_a_replica(redis: RedisServer) -> None:
    with redis.client() as client:
        client.replicaof("127.0.0.1", "1")


async def become_the_master(redis: RedisServer) -> None:
    with redis.client() as client:
        client.replicaof("NO", "ONE")


Fault = Callable[[RedisServer], Awaitable[None]]
FAULTS: dict[str, tuple[Fault, Fault, str]] = {
    "is killed, and comes back empty": (kill, restart, "connection"),
    "is paused": (pause, resume, "timeout"),
    "is out of memory": (run_out_of_memory, find_memory, "error"),
    "is read-only": (become_a_replica, become_the_master, "error"),
}


def said(here: Fleet, number: int) -> list[str]:
    """What the log of a gateway says of Redis, by the level."""
    lines = here.gateways[number].log
    return [line["level"] for line in lines if line.get("message", "").startswith("redis")]


@pytest.mark.parametrize("fault", FAULTS)
async def test_redis(fault: str, engine_thread: EngineThread, redis: RedisServer) -> None:
    breaks, heals, kind = FAULTS[fault]
    async with fleet(engine_thread, section(redis), policy={"threshold": 4}) as here:
        await here.joined()
        assert await here.hold(2, 0) == [UNDER] * 2
        await breaks(redis)
        await here.alone()
        # Half of the four places is each one's share.
        assert await here.hold(3, 1) == [UNDER] * 2 + [OVER]
        assert await here.hold(1, 0) == [OVER]
        await here.end("speculative")
        for number, each in enumerate(here.gateways):
            status = each.status()
            assert status["redis"]["state"] == "down"
            assert status["redis"]["error"]
            assert status["models"][0]["pools"]["speculative"]["share"] == 2
            metrics = each.metrics()
            assert metrics.total("spillway_redis_up") == 0
            assert metrics.total("spillway_redis_failures_total", kind=kind) >= 1
            assert metrics.total("spillway_local_decisions_total") >= 1
            assert said(here, number) == ["info", "warning"]
        await heals(redis)
        await here.joined()
        await here.counts_are_right()
        assert await here.hold(2, 0) == [UNDER, OVER]
        assert said(here, 0) == said(here, 1) == ["info", "warning", "info"]
        await here.release()
        await here.counts_are_right()
        await here.eventually(lambda: not leftovers(redis))


async def test_each_switches_by_its_share(engine_thread: EngineThread, redis: RedisServer) -> None:
    policy = {"mode": "switch", "threshold": 4, "resume_below": 1.0, "min_dwell": 0.0}
    async with fleet(engine_thread, section(redis), policy=policy) as here:
        await here.joined()
        assert await here.hold(3, 0) == [UNDER] * 3
        await kill(redis)
        await here.alone()
        # Half of the four is each one's share.
        assert await here.hold(1, 0) == [OVER]
        assert await here.hold(3, 1) == [UNDER] * 2 + [OVER]
        assert [each.pool_status("speculative")["share"] for each in here.gateways] == [2, 2]
        await restart(redis)
        await here.joined()
        await here.counts_are_right()
        assert await here.hold(2) == [OVER] * 2
        await here.end("baseline", 4)
        await here.end("speculative", 2)
        await here.counts_are_right()
        assert await here.hold(2) == [UNDER, OVER]


async def test_adaptive_takes_others_for_as_busy_as_itself(engine_thread: EngineThread, redis: RedisServer) -> None:
    policy = {"kind": "adaptive", "fallback": {"threshold": 4}, "exploration": 0.0}
    async with fleet(engine_thread, section(redis), policy=policy) as here:
        await here.joined()
        await here.hold(2, 0)
        await kill(redis)
        await here.alone()
        await here.hold(3, 1)
        await here.hold(1, 0)
        assert (here.holding("speculative"), here.holding("baseline")) == (4, 2)
        await restart(redis)
        await here.joined()
        await here.counts_are_right()
        await here.hold(2)
        assert (here.holding("speculative"), here.holding("baseline")) == (4, 4)
        await here.release()
        await here.counts_are_right()


async def test_redis_is_not_there_at_the_start(engine_thread: EngineThread) -> None:
    with redis_server(started=False) as redis:
        async with fleet(engine_thread, section(redis, expected_gateways=2), policy={"threshold": 4}) as here:
            await here.alone()
            assert await here.hold(6) == [UNDER] * 4 + [OVER] * 2
            await restart(redis)
            await here.joined()
            await here.counts_are_right()
            assert await here.hold(1) == [OVER]


async def test_who_waits_while_redis_goes_is_placed_by_the_gateway(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    async with fleet(engine_thread, section(redis), pool={"max_inflight": 2}, policy={"threshold": 2}) as here:
        await here.joined()
        await here.hold(4, 0)
        waiting = asyncio.create_task(here.hold(1, 1))
        await here.queued(1, 1)
        await kill(redis)
        assert await waiting == [UNDER]


async def test_flushed_scripts_go_unnoticed(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), policy={"threshold": 2}) as here:
        await here.joined()
        with redis.client() as client:
            client.script_flush()
        assert await here.hold(3) == [UNDER] * 2 + [OVER]
        assert [each.metrics().total("spillway_redis_failures_total") for each in here.gateways] == [0, 0]
        await here.counts_are_right()


@pytest.mark.parametrize("lost", ["counts", "leases:*", "view:*", "gateways", "*"])
async def test_lost_keys_are_made_anew(lost: str, engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), policy={"threshold": 3}) as here:
        await here.joined()
        assert await here.hold(2) == [UNDER] * 2
        with redis.client() as client:
            client.delete(*client.scan_iter(f"spillway:{{fake}}:{lost}"))
        await here.joined()
        await here.counts_are_right()
        assert await here.hold(2) == [UNDER, OVER]
        await here.release()
        await here.eventually(lambda: not leftovers(redis))


async def test_a_cut_connection_is_made_anew_at_once(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), policy={"threshold": 2}) as here:
        await here.joined()
        await here.hold(1)
        await asyncio.sleep(1)
        with redis.client() as client:
            for connection in client.client_list():
                if connection["name"].startswith("spillway-"):
                    client.client_kill_filter(_id=connection["id"])
        await here.eventually(lambda: all(said(here, number)[1:] == ["warning", "info"] for number in (0, 1)))
        await here.counts_are_right()
        assert await here.hold(2) == [UNDER, OVER]
