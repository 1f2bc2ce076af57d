"""Three gateways' models on a Redis that is ill-treated, and reloads, in any order: each request is answered once."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any

from gateway.config import Discovery, Redis
from gateway.load import QueueFullError
from gateway.load.shared import SharedCounts
from gateway.models import Grant, Model, Models
from gateway.models.placing import Ask
from gateway.pools import Pool
from tests.models.fleet import Watch, config, recover
from tests.support.redis import RedisServer, leftovers

SECONDS, GATEWAYS, CLIENTS, NAMES = 5.0, 3, 15, ("m", "k")
ANSWER_SECONDS = 5.0
chance = random.Random(20261130)


class Ready(Watch):
    """Every replica is well as soon as it is found."""

    def discover(self, pool: Pool, discovery: Discovery | None) -> None:
        super().discover(pool, discovery)
        recover(pool, *pool.replicas.values(), now=time.monotonic())


class Member:
    """One gateway, but for its HTTP."""

    def __init__(self, number: int, redis: RedisServer) -> None:
        settings = Redis(urls=(redis.url,), heartbeat_seconds=0.2, expiry_seconds=1.0, timeout_seconds=0.1)
        self.shared = SharedCounts(settings, f"gateway-{number}", lambda *_: None)
        self.models = Models(Ready(), time.monotonic, self.shared)
        self.wakes: list[list[None]] = []
        self.answered = 0
        self.load(*NAMES)

    def load(self, *names: str) -> None:
        policy: dict[str, Any] = {"threshold": chance.choice([2, 3]), "mode": chance.choice(["spill", "switch"])}
        sizes: dict[str, Any] = {"speculative": chance.choice([1, 2]), "baseline": 2, "max_inflight": 6}
        self.models.reconfigure(tuple(config(name=name, min_dwell=0.0, **sizes, **policy) for name in names))

    async def client(self, ends: float) -> None:
        while time.monotonic() < ends:
            model = self.models.find(chance.choice(NAMES))
            grant = None if model is None else await self.ask(model)
            await asyncio.sleep(chance.choice([0.001, 0.02, 0.2]) if grant else 0.005)
            if grant is not None:
                grant.lease.release()
                grant.lease.release()

    async def ask(self, model: Model) -> Grant | None:
        woken, wakes = asyncio.Event(), list[None]()
        self.wakes.append(wakes)

        def wake() -> None:
            wakes.append(None)
            woken.set()

        asking = model.ask(Ask(affinity=chance.randrange(2**32)), wake)
        try:
            if chance.random() < 0.15:
                await asyncio.sleep(chance.choice([0, 0.001, 0.05]))
                return None
            if asking.placed is None:
                await asyncio.wait_for(woken.wait(), ANSWER_SECONDS)
            placed = asking.take()
        finally:
            asking.leave()
        self.answered += 1
        return placed if isinstance(placed, Grant) else await self.queue(model)

    async def queue(self, model: Model) -> Grant | None:
        if chance.random() < 0.5 or model not in list(self.models):
            return None
        woken = asyncio.Event()
        try:
            ticket = model.wait(Ask(), woken.set)
        except QueueFullError:
            return None
        await asyncio.wait((asyncio.create_task(woken.wait()),), timeout=chance.choice([0.05, 0.5]))
        woken.set()
        return ticket.leave()

    def unsettled(self) -> list[object]:
        """What is not as it is when nobody asks and all is well."""
        found: list[object] = []
        for model in self.models.with_requests():
            pools = model.pools.values()
            counts = [(pool.inflight, pool.elsewhere) for pool in pools]
            counts += [(each.inflight, each.elsewhere) for pool in pools for each in pool.replicas.values()]
            link = model.sharing.link if model.sharing else None
            if link is None or set(counts) != {(0, 0)} or model.queue or link.held or link.gateways != GATEWAYS:
                found.append((model.config.name, counts, len(model.queue), link and link.held))
        return found if self.shared.state == "up" else [*found, self.shared.error]


async def pause(redis: RedisServer) -> None:
    redis.pause()
    await asyncio.sleep(chance.choice([0.02, 0.15, 0.5]))
    redis.resume()


async def restart(redis: RedisServer) -> None:
    await asyncio.to_thread(redis.kill)
    await asyncio.to_thread(redis.start)


async def flush(redis: RedisServer) -> None:
    with redis.client() as client:
        client.flushall()
        client.script_flush()


async def hang_up(redis: RedisServer) -> None:
    with redis.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)


async def spoil(redis: RedisServer) -> None:
    with redis.client() as client:
        client.set(f"spillway:{{m}}:{chance.choice(['counts', 'gateways', 'waiting', 'switch'])}", "spoilt")


TROUBLES: tuple[Callable[[RedisServer], Coroutine[Any, Any, None]], ...] = (pause, restart, flush, hang_up, spoil)


async def test_requests_reloads_and_troubles_in_any_order(redis: RedisServer) -> None:
    members = [Member(number, redis) for number in range(GATEWAYS)]
    ends = time.monotonic() + SECONDS
    clients = [asyncio.create_task(member.client(ends)) for member in members for _ in range(CLIENTS)]
    while time.monotonic() < ends:
        member, trouble = chance.choice(members), asyncio.create_task(chance.choice(TROUBLES)(redis))
        await asyncio.sleep(chance.choice([0.0, 0.01]))
        member.load(chance.choice(NAMES))
        await asyncio.sleep(chance.choice([0.0, 0.1]))
        member.load(*NAMES)
        await trouble
    await asyncio.gather(*clients)
    assert all(member.answered > 100 for member in members)
    assert max(len(wakes) for member in members for wakes in member.wakes) == 1
    async with asyncio.timeout(10):
        while True:
            left = [member.unsettled() for member in members]
            if not any(left) and not leftovers(redis):
                break
            await asyncio.sleep(0.05)
    for member in members:
        await member.shared.close()
    with redis.client() as client:
        assert [client.zcard(f"spillway:{{{name}}}:gateways") for name in NAMES] == [0, 0]
        assert all(client.ttl(key) > 0 for key in client.scan_iter())
