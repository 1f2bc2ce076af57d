"""Gateways with the policy `adaptive` learn from each other's requests, through Redis."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.shared.fleet import QUICK, Fleet, fleet
from tests.support import config as files
from tests.support.behaviours import Behaviour, stream
from tests.support.gateway import Gateway, gateway
from tests.support.redis import RedisServer, section
from tests.support.site import CHAT, chat, fake_model
from tests.support.threads import EngineThread
from tests.support.wire import chat_delta, event, usage

TOKENS, ROLES = 20, ("speculative", "baseline")
KEY = "spillway:{fake}:learned"


def slow(gap: float) -> Behaviour:
    """A stream of so many tokens, `gap` seconds apart, whose usage comes with the last event."""
    words = [event(chat_delta("word")) for _ in range(TOKENS)]
    tail = event({**chat_delta(None), "choices": [], "usage": usage(50, TOKENS)})
    return stream([*words, tail, b"data: [DONE]\n\n"], gap=gap)


@asynccontextmanager
async def learners(thread: EngineThread, redis: RedisServer, **policy: Any) -> AsyncIterator[Fleet]:
    """Two gateways that learn; requests may name their pool."""
    terms = {"kind": "adaptive", "allow_pinning": True, **policy}
    async with fleet(thread, section(redis), policy=terms) as here:
        for engine in here.engines:
            engine.respond = slow(0.003)
        await here.joined()
        yield here


async def serve(here: Fleet, number: int, count: int) -> None:
    """So many streams in each pool, all through this gateway."""
    for role in ROLES:
        for _ in range(count):
            headers = {"x-spillway-pool": role}
            response = await here.clients[number].post(CHAT, json=chat(stream=True), headers=headers)
            assert response.status_code == 200


def adaptive(each: Gateway) -> dict[str, Any]:
    found: dict[str, Any] = each.status()["models"][0]["adaptive"]
    return found


def known(each: Gateway) -> list[int]:
    """Requests that the curves of both pools rest on."""
    return [adaptive(each)["pools"][role]["requests"] for role in ROLES]


def weight(each: Gateway) -> float:
    """What of them still counts, of one request at a time in the speculative pool."""
    curve = adaptive(each)["pools"]["speculative"]["curve"]
    return float(curve[0]["requests"]) if curve else 0.0


def here_only(each: Gateway) -> list[int]:
    return [adaptive(each)["pools"][role]["requests_here"] for role in ROLES]


def source(each: Gateway) -> str:
    return str(adaptive(each)["evidence"]["source"])


def heard(each: Gateway) -> int:
    """Gateways that the evidence comes from."""
    return int(adaptive(each)["evidence"]["gateways"])


async def test_a_gateway_without_requests_knows_what_another_has_learned(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    async with learners(engine_thread, redis) as here:
        busy, idle = here.gateways
        await serve(here, 0, 6)
        await here.eventually(lambda: known(idle) == known(busy) == [6, 6])
        assert [here_only(each) for each in here.gateways] == [[6, 6], [0, 0]]
        assert (source(idle), heard(idle)) == ("redis", 2)
        rates = [adaptive(each)["pools"]["speculative"]["curve"][0]["rate"] for each in here.gateways]
        assert 0.8 < rates[0] / rates[1] < 1.25
        # Nothing was ever sent through it, and yet the curves decide.
        response = await here.clients[1].post(CHAT, json=chat(stream=True))
        assert response.headers["x-spillway-reason"] in ("adaptive", "exploration")
        metrics = idle.metrics()
        assert metrics.total("spillway_adaptive_evidence_gateways") == 2
        assert metrics.total("spillway_adaptive_observations_total") <= 1


async def test_each_tells_its_own_only_and_nothing_counts_twice(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    async with learners(engine_thread, redis) as here:
        await serve(here, 0, 4)
        await serve(here, 1, 3)
        await here.eventually(lambda: all(known(each) == [7, 7] for each in here.gateways))
        await serve(here, 1, 2)
        await here.eventually(lambda: all(known(each) == [9, 9] for each in here.gateways))
        with redis.client() as client:
            texts = [json.loads(text.partition(" ")[2]) for text in client.hvals(KEY)]
        assert sorted(text["pools"]["speculative"]["seen"] for text in texts) == [4, 5]


async def test_what_a_dead_gateway_knew_is_there_for_a_new_one_and_ages(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    async with learners(engine_thread, redis, half_life=10) as here:
        dead, witness = here.gateways
        await serve(here, 0, 8)
        await here.eventually(lambda: known(witness) == [8, 8])
        dead.process.kill()
        model = fake_model(here.speculative, here.baseline, policy={"kind": "adaptive", "half_life": 10})
        settings = files.config(model, redis={**QUICK, **section(redis)})
        with gateway(settings) as fresh:
            await fresh.eventually(lambda: known(fresh) == [8, 8], 10.0)
            assert 0 < weight(fresh) <= 8
        with redis.client() as client:
            [field] = client.hkeys(KEY)
            written, _, text = client.hget(KEY, field).partition(" ")
            # As if it had died two half-lives earlier.
            client.hset(KEY, field, f"{int(written) - 20_000} {text}")
        with gateway(settings) as fresh:
            await fresh.eventually(lambda: known(fresh) == [8, 8], 10.0)
            assert 0 < weight(fresh) <= 2
        with redis.client() as client:
            # And longer than any evidence is kept.
            client.hset(KEY, field, f"{int(written) - 60_000} {text}")
            await witness.eventually(lambda: not client.hexists(KEY, field), 10.0)


async def test_redis_goes_and_comes_back(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with learners(engine_thread, redis) as here:
        await serve(here, 0, 3)
        await here.eventually(lambda: known(here.gateways[1]) == [3, 3])
        await asyncio.to_thread(redis.kill)
        await here.eventually(lambda: all(source(each) == "local" and heard(each) == 1 for each in here.gateways))
        await serve(here, 0, 2)
        await serve(here, 1, 1)
        await here.eventually(lambda: [known(each) for each in here.gateways] == [[5, 5], [4, 4]])
        assert all(adaptive(each)["evidence"]["error"] for each in here.gateways)
        await asyncio.to_thread(redis.start)
        await here.eventually(lambda: all(source(each) == "redis" for each in here.gateways))
        await here.eventually(lambda: all(known(each) == [6, 6] for each in here.gateways))
        # It has lost all that it held, and was told again; nothing counts twice for that.
        with redis.client() as client:
            client.flushall()
            await here.eventually(lambda: client.hlen(KEY) == 2)
        await serve(here, 0, 1)
        await here.eventually(lambda: all(known(each) == [7, 7] for each in here.gateways))


async def test_a_report_of_another_version_is_left_alone(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with learners(engine_thread, redis) as here:
        with redis.client() as client:
            stamp, _ = client.time()
            client.hset(KEY, "from the future", f"{stamp}000 " + json.dumps({"version": 99, "pools": {}}))
            client.hset(KEY, "no text", "nonsense")
        await serve(here, 0, 2)
        await here.eventually(lambda: known(here.gateways[1]) == [2, 2])
        evidence = adaptive(here.gateways[1])["evidence"]
        assert (evidence["source"], evidence["unread"]) == ("redis", 1)


async def test_a_report_that_makes_no_sense_harms_neither_requests_nor_the_others_reports(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    rows = [[[0, 5, 1e308, 5, 5]], [[0, 5, 5e-324, 5, 5]], [[0, 5, 500, 1e308, 1e308]], [[0, 5, 500, 5, 0]]]
    absurd: list[dict[str, Any]] = [{"shape": {"rows": each}} for each in rows]
    absurd += [{"level": 1e308}, {"level": 5e-324}, {"first": {"sums": [1e308] * 5}}, {"ended": 1, "tokens": 1e308}]
    terms = {"version": 1, "epoch": "x", "half_life": 300.0, "shared_hardware": False}
    async with learners(engine_thread, redis) as here:
        hearer = here.gateways[1]
        with redis.client() as client:
            stamp, _ = client.time()
            for number, pool in enumerate(absurd):
                text = json.dumps({**terms, "pools": {role: {"seen": 5, **pool} for role in ROLES}})
                client.hset(KEY, f"liar {number}", f"{stamp}000 {text}")
            client.hset(KEY, "long", f"{stamp}000 {json.dumps(terms)}{' ' * 65536}")
            client.hset(KEY, "from the future", f"{'9' * 400} {json.dumps(terms)}")
            # It is dropped by who reads it first.
            unread = 2 * len(absurd) + 1
            await here.eventually(lambda: sum(adaptive(one)["evidence"]["unread"] for one in here.gateways) == unread)
            assert not client.hexists(KEY, "long")
        await serve(here, 0, 4)
        await here.eventually(lambda: known(hearer) == [4, 4])
        await serve(here, 1, 4)
        await here.eventually(lambda: known(hearer) == [8, 8])


async def test_of_too_many_reports_the_oldest_are_dropped(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with learners(engine_thread, redis) as here:
        with redis.client() as client:
            seconds, _ = client.time()
            stamp = int(seconds) * 1000 - 60_000
            texts = {f"liar {number}": f"{stamp + number} {{}}" for number in range(1500)}
            client.hset(KEY, mapping=texts)
            await here.eventually(lambda: client.hlen(KEY) <= 1001)
            left = client.hkeys(KEY)
            assert "liar 1499" in left
            assert "liar 0" not in left
        await serve(here, 0, 4)
        await here.eventually(lambda: known(here.gateways[1]) == [4, 4])


async def test_a_reload_keeps_what_was_heard(engine_thread: EngineThread, redis: RedisServer) -> None:
    async with learners(engine_thread, redis) as here:
        await serve(here, 0, 4)
        await here.eventually(lambda: known(here.gateways[1]) == [4, 4])
        hearer = here.gateways[1]
        changed = {"kind": "adaptive", "allow_pinning": True, "objective": "throughput"}
        model = fake_model(here.speculative, here.baseline, policy=changed)
        hearer.write_config(files.config(model, redis={**QUICK, **section(redis)}))
        await here.eventually(lambda: adaptive(hearer)["weight"] == 1.0)
        await serve(here, 0, 1)
        await here.eventually(lambda: known(hearer) == [5, 5])
