"""Four gateways, two hundred clients, and every fault at random: the limit holds, and nothing is left in the end."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tests.shared.crowd import Crowd, Span, most
from tests.shared.scene import CLIENTS, EXPIRY, GATEWAYS, HEARTBEAT, LIMIT, SETTLED, Scene, scene
from tests.support.redis import leftovers
from tests.support.threads import EngineThread

KILLS, CALM = 2, 1.5


@dataclass(frozen=True)
class Fault:
    """`counted`: Redis answers all along, so that the limit holds as well, but where a gateway's log says otherwise."""

    strike: Callable[[Scene, int], Awaitable[None]]
    counted: bool = False


async def restart(here: Scene, _: int) -> None:
    await asyncio.to_thread(here.redis.kill)
    await asyncio.sleep(0.5)
    await asyncio.to_thread(here.redis.start)


async def pause(here: Scene, _: int) -> None:
    here.redis.pause()
    await asyncio.sleep(1.5)
    here.redis.resume()


async def pause_for_long(here: Scene, _: int) -> None:
    here.redis.pause()
    await asyncio.sleep(EXPIRY + 1)
    here.redis.resume()


async def cut(here: Scene, pick: int) -> None:
    await here.turn(pick, "cut", EXPIRY + 1)


async def go_dead(here: Scene, pick: int) -> None:
    await here.turn(pick, "dead", EXPIRY + 1)


async def part(here: Scene, pick: int) -> None:
    if not here.links:
        await go_dead(here, pick)
        return
    link = here.links[pick % len(here.links)]
    link.down()
    await asyncio.sleep(EXPIRY + 1)
    link.up()


async def stop(here: Scene, pick: int) -> None:
    await here.stop(pick % GATEWAYS, EXPIRY - 3 * HEARTBEAT)


async def stop_for_long(here: Scene, pick: int) -> None:
    await here.stop(pick % GATEWAYS, EXPIRY + 2)


FAULTS = {
    "Redis restarted empty": Fault(restart),
    "Redis paused": Fault(pause),
    "Redis paused for longer than gateways are remembered": Fault(pause_for_long),
    "a gateway's connection cut": Fault(cut),
    "a gateway's connection dead": Fault(go_dead),
    "a gateway parted from Redis": Fault(part),
    "a gateway paused": Fault(stop, counted=True),
    "a gateway paused for longer than it is remembered": Fault(stop_for_long, counted=True),
}


@pytest.mark.timeout(300)
async def test_many_clients_several_gateways_and_every_fault(
    engine_thread: EngineThread, capsys: pytest.CaptureFixture[str]
) -> None:
    with scene(engine_thread) as here:
        here.posts += await asyncio.gather(*(here.place(number) for number in range(GATEWAYS)))
        await here.together()
        crowd = Crowd(20261129, here.posts, here.engines)
        clients = [asyncio.create_task(crowd.client()) for _ in range(CLIENTS)]
        await asyncio.sleep(CALM)
        for number in range(KILLS):
            await here.kill(number, crowd)
            crowd.faults["gateway killed"] += 1
            await asyncio.sleep(CALM)
        for name, fault in FAULTS.items():
            await here.together()
            started = time.monotonic()
            await fault.strike(here, crowd.random.randrange(1000))
            crowd.faults[name] += 1
            await here.together()
            if not fault.counted:
                await asyncio.sleep(SETTLED)
                here.troubled.append(Span(started, time.monotonic()))
            await asyncio.sleep(CALM)
        crowd.on = False
        await asyncio.gather(*clients)
        for post in here.posts:
            await post.gateway.assert_idle(30.0)
        await here.posts[0].gateway.eventually(lambda: not leftovers(here.redis), 10.0, lambda: leftovers(here.redis))
        for post in here.posts:
            await post.client.aclose()
        alone, forgotten = here.alone(), here.forgotten()
        fullest = most(crowd.spans(here.speculative), [*here.troubled, *alone, *forgotten])
        with capsys.disabled():
            print(f"\nfaults injected: {dict(crowd.faults)}; {sum(crowd.faults.values())} in all")
            parted = (
                f"a proxy that passes nothing ({here.no_namespace})" if here.no_namespace else "links of a namespace"
            )
            print(f"gateways were parted from Redis by {parted}")
            print(f"answers: {dict(crowd.outcomes)}; times that a gateway decided by itself: {len(alone)}")
            print(f"times that a gateway was silent for too long: {len(forgotten)}")
            print(f"at most {len(fullest)} of {LIMIT} at once at the speculative engines while Redis answered")
        account = here.account(fullest)
    assert crowd.errors == []
    assert len(fullest) <= LIMIT, account
    # The limit was put to the test.
    assert len(fullest) == LIMIT
    assert forgotten
