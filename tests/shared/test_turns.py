"""Who waits at one gateway, and who comes to another: places go to who came first."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from gateway.config import ThresholdPolicy
from gateway.routing import ROLES, Refusal, Role
from tests.shared.fleet import Fleet, fleet
from tests.shared.reference import Counts, Engine, Eyes, Wish
from tests.shared.scripted import Shared
from tests.support.behaviours import answer
from tests.support.redis import RedisServer, leftovers, section
from tests.support.site import CHAT, chat
from tests.support.threads import EngineThread

LONG = 1_000_000  # ms
NAMES = ("a.1", "b.1", "c.1", "d.1")
ENGINES: dict[Role, tuple[Engine, ...] | None] = {role: (Engine(f"http://{role}:1"),) for role in ROLES}
EYES = Eyes(ThresholdPolicy(threshold=1), ENGINES, {"speculative": 2, "baseline": 1})


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_queues(redis: RedisServer, seed: int) -> None:
    """Few places and many who want them; some forgotten. The server does what the reference does."""
    chance = random.Random(seed)
    with redis.client() as client:
        shared, counts = Shared(client), Counts()
        for name in NAMES:
            shared.enter(name)
            counts.enter(name)
        for number in range(1500):
            name = chance.choice(NAMES)
            if chance.random() < 0.02:
                shared.silence(name)
                counts.silent.add(name)
            if name in counts.silent:
                other = next(each for each in NAMES if each not in counts.silent or each == NAMES[-1])
                assert shared.step(other, EYES) == counts.step(other, EYES)
                if name not in counts.leases:
                    shared.enter(name)
                    counts.enter(name)
                continue
            held = list(counts.leases[name])
            # Now and then one that the free place is not for.
            tried = [chance.choice(ROLES)] if chance.random() < 0.1 else []
            wish = Wish(
                pinned=chance.choice((None, None, *ROLES)),
                tried=frozenset((role, f"http://{role}:1") for role in tried),
                waited=chance.choice((-1, 0, 0, chance.randint(1, 9), chance.randint(1, 9))),
            )
            if wish.waited > 0:
                wish = Wish(wish.affinity, wish.pinned, None, wish.tried, 100_000_000 * wish.waited - 10_000 * number)
            release = [lease for lease in held if chance.random() < 0.4]
            wishes = [(number, wish)] if chance.random() < 0.8 else []
            expected = counts.step(name, EYES, release=release, wishes=wishes)
            assert shared.step(name, EYES, release=release, wishes=wishes) == expected
            assert shared.totals() == counts.totals()


@pytest.fixture
def full(redis: RedisServer) -> Shared:
    """Gateway a has all three places, 0, 1 and 2."""
    shared = Shared(redis.client())
    for name in NAMES:
        shared.enter(name)
    shared.step("a.1", EYES, wishes=[(0, Wish()), (1, Wish()), (2, Wish())])
    assert shared.totals() == {"s": 2, "s http://speculative:1": 2, "b": 1, "b http://baseline:1": 1}
    return shared


def _gets(shared: Shared, name: str, wish: Wish, *release: int) -> bool:
    [(placement, url)] = shared.step(name, EYES, release=release, wishes=[(99, wish)]) or []
    assert bool(url) != isinstance(placement, Refusal)
    return bool(url)


def test_a_place_is_left_to_who_waits_longer(full: Shared) -> None:
    assert not _gets(full, "b.1", Wish(waited=2 * LONG))
    assert not _gets(full, "a.1", Wish(waited=LONG), 0)
    assert not _gets(full, "a.1", Wish())
    assert _gets(full, "b.1", Wish(waited=2 * LONG))
    assert _gets(full, "a.1", Wish(waited=LONG), 1)


def test_who_waits_longer_goes_first(full: Shared) -> None:
    assert not _gets(full, "b.1", Wish(waited=LONG))
    assert _gets(full, "a.1", Wish(waited=2 * LONG), 0)


def test_there_are_places_for_both(full: Shared) -> None:
    assert not _gets(full, "b.1", Wish(waited=LONG))
    assert _gets(full, "a.1", Wish(), 0, 2)


def test_a_retry_overtakes(full: Shared) -> None:
    assert not _gets(full, "b.1", Wish(waited=LONG))
    assert _gets(full, "a.1", Wish(waited=-1), 0)


def test_who_waits_for_another_pool_is_in_nobodys_way(full: Shared) -> None:
    assert not _gets(full, "b.1", Wish(pinned="baseline", waited=LONG))
    assert _gets(full, "a.1", Wish(pinned="speculative"), 0)


def test_who_can_make_no_use_of_a_place_is_in_nobodys_way_for_long(full: Shared) -> None:
    """Its gateway knows another replica of the pool, which is full."""
    elsewhere: dict[Role, tuple[Engine, ...] | None] = {
        "speculative": (Engine("http://speculative:2"),),
        "baseline": None,
    }
    eyes, pinned = Eyes(EYES.policy, elsewhere, EYES.caps), Wish(pinned="speculative")
    waiting = Wish(pinned="speculative", waited=LONG)
    full.step("b.1", eyes, wishes=[(10, pinned), (11, pinned)])
    assert full.step("b.1", eyes, wishes=[(12, waiting)]) == [(Refusal.FULL, "")]
    assert not _gets(full, "a.1", pinned, 0)
    assert full.step("b.1", eyes, wishes=[(12, waiting)]) == [(Refusal.FULL, "")]
    assert _gets(full, "a.1", pinned)


def test_who_was_forgotten_is_waited_for_no_more(full: Shared) -> None:
    assert not _gets(full, "b.1", Wish(waited=LONG))
    full.silence("b.1")
    full.step("c.1", EYES)
    assert _gets(full, "a.1", Wish(), 0)


async def test_a_queue_that_is_never_empty_does_not_starve_another_gateways(
    engine_thread: EngineThread, redis: RedisServer
) -> None:
    """Gateway B's clients want twice the places that there are; A's requests come in their turn."""
    policy = {"kind": "threshold", "threshold": 2, "queue": {"size": 64, "timeout": 60}}
    async with fleet(engine_thread, section(redis), pool={"max_inflight": 2}, policy=policy) as here:
        await here.joined()
        for engine in here.engines:
            engine.respond = answer(gap=0.02)
        async with asyncio.timeout(60), _busy(here, 1, 8) as done:
            before = done[200]
            statuses = await asyncio.gather(*(_status(here, 0) for _ in range(3)))
            meanwhile = done[200] - before
        assert statuses == [200] * 3
        # Those in B's queue before them, those that had places, and a few for the polls.
        assert meanwhile < 40
        assert set(done) == {200}
        await here.eventually(lambda: not leftovers(redis))


async def test_a_gateway_that_dies_while_its_requests_wait(engine_thread: EngineThread, redis: RedisServer) -> None:
    policy = {"kind": "threshold", "threshold": 1, "queue": {"size": 64, "timeout": 60}}
    async with fleet(engine_thread, section(redis), pool={"max_inflight": 1}, policy=policy) as here:
        await here.joined()
        await here.hold(2, 1)
        waiting = asyncio.create_task(_status(here, 0))
        await here.queued(0, 1)
        here.gateways[0].process.kill()
        await here.release()
        async with asyncio.timeout(20):
            assert await asyncio.gather(*(_status(here, 1) for _ in range(4))) == [200] * 4
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def _status(here: Fleet, number: int) -> int:
    response = await here.clients[number].post(CHAT, json=chat())
    return response.status_code


@contextlib.asynccontextmanager
async def _busy(here: Fleet, number: int, clients: int) -> AsyncIterator[Counter[int]]:
    """So many clients of one gateway send one request after the other; what they got, by status."""
    done: Counter[int] = Counter()
    over = asyncio.Event()

    async def client() -> None:
        while not over.is_set():
            done[await _status(here, number)] += 1

    running = [asyncio.create_task(client()) for _ in range(clients)]
    await here.eventually(lambda: done[200] >= 2 * clients)
    try:
        yield done
    finally:
        over.set()
        await asyncio.gather(*running)
