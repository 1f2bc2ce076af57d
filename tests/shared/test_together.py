"""Several gateways decide as one."""

import asyncio
import json
import signal
import time

from tests.shared.fleet import fleet
from tests.support.behaviours import answer, fail
from tests.support.raw import RawClient, request_bytes
from tests.support.redis import RedisServer, leftovers, section
from tests.support.site import CHAT, chat, placed
from tests.support.threads import EngineThread

UNDER, OVER = ("speculative", "under_threshold"), ("baseline", "over_threshold")


async def test_the_limit_is_that_of_all_gateways(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), policy={"threshold": 3}) as here:
        await here.joined()
        assert await here.hold(5) == [UNDER] * 3 + [OVER] * 2
        await here.counts_are_right()
        await here.end("speculative", 2)
        await here.counts_are_right()
        assert await here.hold(3, 1) == [UNDER] * 2 + [OVER]
        here_only = [each.pool_status("speculative")["inflight_here"] for each in here.gateways]
        assert sum(here_only) == 3
        await here.release()
        await here.counts_are_right()
        await here.eventually(lambda: not leftovers(redis))


async def test_the_replica_with_the_fewest_requests_of_all_gateways(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    async with fleet(engine_thread, section(redis), speculative=3, policy={"threshold": 2}) as here:
        await here.joined()
        assert await here.hold(6) == [UNDER] * 6
        assert [len(engine.requests) for engine in here.speculative] == [2, 2, 2]


async def test_all_switch_together(engine_thread: EngineThread, redis: RedisServer) -> None:
    policy = {"mode": "switch", "threshold": 2, "resume_below": 1.0, "min_dwell": 0.0}
    async with fleet(engine_thread, section(redis), policy=policy) as here:
        await here.joined()
        assert await here.hold(3, 0) == [UNDER] * 2 + [OVER]
        assert await here.hold(1, 1) == [OVER]
        await here.eventually(lambda: all(each.status()["models"][0]["policy"]["high"] for each in here.gateways))
        await here.end("baseline", 2)
        await here.end("speculative", 1)
        await here.counts_are_right()
        assert await here.hold(1, 1) == [UNDER]


async def test_who_waits_is_placed_when_another_gateway_has_done(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    async with fleet(engine_thread, section(redis), pool={"max_inflight": 1}, policy={"threshold": 1}) as here:
        await here.joined()
        await here.hold(2, 0)
        waiting = [asyncio.create_task(here.hold(1, 1)) for _ in range(3)]
        await here.queued(1, 3)
        for left in (2, 1):
            await here.end("speculative")
            await here.queued(1, left)
        # Nothing but the release of its own tells the last one.
        await here.end("baseline")
        assert min(await asyncio.gather(*waiting))[0][0] == "baseline"
        await here.counts_are_right()


async def test_what_a_killed_gateway_held_is_given_back(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), policy={"threshold": 2}) as here:
        await here.joined()
        await here.hold(3, 0)
        here.gateways[0].process.kill()
        here.held.clear()
        await here.joined(1, gateways=1)
        await here.counts_are_right(1)
        assert await here.hold(3, 1) == [UNDER] * 2 + [OVER]


async def test_a_gateway_that_ends_in_order_leaves_at_once(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis, expiry_seconds=600)) as here:
        await here.joined()
        here.gateways[0].terminate()
        assert await here.gateways[0].wait_exit() == 0
        await here.joined(1, gateways=1)


async def test_a_failed_attempt_is_repeated_elsewhere(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with fleet(engine_thread, section(redis), speculative=2, policy={"threshold": 1}) as here:
        await here.joined()
        await here.hold(1, 1)
        for engine in here.speculative:
            engine.respond = fail(503)
        here.gate.open()
        response = await here.clients[0].post(CHAT, json=chat())
        assert placed(response) == ("baseline", "failover")
        await here.release()
        await here.eventually(lambda: not leftovers(redis))


async def test_clients_that_leave_while_redis_is_asked(engine_thread: EngineThread, redis: RedisServer) -> None:
    """Their places are given back, once."""
    settings = section(redis, heartbeat_seconds=5.0, expiry_seconds=60.0, timeout_seconds=5.0)
    async with fleet(engine_thread, settings, policy={"threshold": 2}) as here:
        await here.joined()
        for engine in here.engines:
            engine.respond = answer()
        await asyncio.to_thread(redis.pause)
        body = request_bytes(json.dumps(chat()).encode())
        leaving = [await RawClient.open(here.gateways[0].port) for _ in range(5)]
        for client in leaving:
            await client.send(body)
        staying = asyncio.create_task(here.clients[0].post(CHAT, json=chat()))
        await asyncio.sleep(0.3)
        for client in leaving:
            client.close()
        metrics = await asyncio.to_thread(here.gateways[0].metrics)
        assert metrics.total("spillway_local_decisions_total") == 0
        redis.resume()
        assert (await staying).status_code == 200
        await here.gateways[0].counted("spillway_cancelled_total", 5)
        await here.counts_are_right()
        await here.eventually(lambda: not leftovers(redis))


async def test_a_gateway_that_was_paused_takes_a_new_name(engine_thread: EngineThread, redis: RedisServer) -> None:
    """Its places were given away, so that the pool holds too many: it says so, and nobody is let in until they end."""
    async with fleet(engine_thread, section(redis), policy={"threshold": 2}) as here:
        await here.joined()
        assert await here.hold(2, 0) == [UNDER] * 2
        here.gateways[0].process.send_signal(signal.SIGSTOP)
        await here.joined(1, gateways=1)
        await here.eventually(lambda: here.gateways[1].pool_status("speculative")["inflight"] == 0)
        assert await here.hold(3, 1) == [UNDER] * 2 + [OVER]
        here.gateways[0].process.send_signal(signal.SIGCONT)
        await here.joined()
        await here.counts_are_right()
        assert await here.hold(2) == [OVER] * 2
        await here.end("speculative", 2)
        await here.counts_are_right()
        assert await here.hold(2) == [OVER] * 2
        await here.end("speculative")
        await here.counts_are_right()
        assert await here.hold(2, 0) == [UNDER, OVER]
        metrics = [await asyncio.to_thread(each.metrics) for each in here.gateways]
        assert [each.total("spillway_redis_up") for each in metrics] == [1, 1]
        assert [each.total("spillway_redis_failures_total", kind="forgotten") for each in metrics] == [1, 0]
        said = [line["message"] for line in here.gateways[0].log if "forgotten" in line.get("message", "")]
        assert len(said) == 1
        assert said[0].endswith("s ago: its requests in flight for fake, 2, count again")


async def test_an_answer_that_came_while_the_gateway_was_paused(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    """It is read, however late: nobody was slow but the gateway itself."""
    patience = 2.0
    settings = section(redis, heartbeat_seconds=patience, expiry_seconds=60.0, timeout_seconds=patience)
    async with fleet(engine_thread, settings, gateways=1, policy={"threshold": 2}) as here:
        await here.joined()
        redis.pause()
        asking = asyncio.create_task(here.hold(3))
        await asyncio.sleep(0.3)
        here.gateways[0].process.send_signal(signal.SIGSTOP)
        redis.resume()
        await asyncio.sleep(1.5 * patience)
        here.gateways[0].process.send_signal(signal.SIGCONT)
        assert await asking == [UNDER] * 2 + [OVER]
        metrics = await asyncio.to_thread(here.gateways[0].metrics)
        assert metrics.total("spillway_redis_failures_total") == 0
        assert metrics.total("spillway_local_decisions_total") == 0


async def test_what_is_said_of_it(engine_thread: EngineThread, redis: RedisServer) -> None:
    started = time.time()
    async with fleet(engine_thread, section(redis), gateways=1, policy={"threshold": 4}) as here:
        await here.joined()
        await here.hold(1)
        status = await asyncio.to_thread(here.gateways[0].status)
        assert status["redis"] == {
            "state": "up",
            "since": status["redis"]["since"],
            "mode": "single",
            "address": f"127.0.0.1:{redis.port}",
            "error": None,
        }
        model = status["models"][0]
        assert (model["source"], model["gateways"]) == ("redis", 1)
        assert model["since"] >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started))
        assert {name: model["pools"]["speculative"][name] for name in ("inflight", "inflight_here", "share")} == {
            "inflight": 1,
            "inflight_here": 1,
            "share": 4,
        }
        said = [line["message"] for line in here.gateways[0].log if "redis" in line.get("message", "")]
        assert said == [f"redis at 127.0.0.1:{redis.port}: in-flight counts are shared, gateways: 1"]
