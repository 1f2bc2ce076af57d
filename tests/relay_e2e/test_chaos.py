"""A minute of clients and engines that fail at random; then quiet, and every count is exactly zero.

SPILLWAY_CHAOS_SECONDS sets another length, SPILLWAY_CHAOS_SEED repeats a run's choices.
"""

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.relay_e2e.chaos import Chaos
from tests.support.config import config
from tests.support.engine import FakeEngine
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread

SECONDS = float(os.environ.get("SPILLWAY_CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("SPILLWAY_CHAOS_SEED", random.SystemRandom().randrange(10**6)))
CLIENTS = 50


def small(fast: list[FakeEngine], plain: list[FakeEngine]) -> Any:
    """Little room, so that requests wait and are refused too."""
    policy = {"threshold": 4, "queue": {"size": 12, "timeout": 1.0}}
    return config(fake_model(fast, plain, pool={"max_inflight": 8}, policy=policy), limits={"first_byte_seconds": 2.0})


async def watch(here: Site, seen: list[int]) -> None:
    """Pools and their replicas never disagree, whenever one looks."""
    while True:
        status = await asyncio.to_thread(here.gateway.status)
        for pool in status["models"][0]["pools"].values():
            assert pool["inflight"] == sum(one["inflight"] for one in pool["replicas"]), status
            assert all(0 <= one["inflight"] <= 8 for one in pool["replicas"]), status
        seen.append(sum(pool["inflight"] for pool in status["models"][0]["pools"].values()))
        await asyncio.sleep(0.1)


def open_files(here: Site) -> int:
    return len(list(Path(f"/proc/{here.gateway.process.pid}/fd").iterdir()))


@pytest.mark.timeout(SECONDS + 120)
async def test_chaos_leaves_nothing_behind(engine_thread: EngineThread, capsys: pytest.CaptureFixture[str]) -> None:
    with site(engine_thread, speculative=3, baseline=2, settings=small) as here:
        files_before = open_files(here)
        chaos = Chaos(SEED, here.gateway.port, here.engines)
        seen: list[int] = []
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch(here, seen))
            clients = [group.create_task(chaos.client()) for _ in range(CLIENTS)]
            tormenting = group.create_task(chaos.torment())
            await asyncio.sleep(SECONDS)
            chaos.on = False
            await asyncio.gather(tormenting, *clients)
            watching.cancel()
        metrics = here.gateway.metrics()
        with capsys.disabled():
            print(f"\nchaos seed {SEED}, {SECONDS:.0f} s: {chaos.faults.total()} faults {dict(chaos.faults)}")
            print(f"requests {sum(chaos.outcomes.values())} read to their end: {dict(chaos.outcomes)}")
            print(f"counted {metrics.total('spillway_requests_total'):.0f}, in flight at most {max(seen)}")
        await here.gateway.assert_idle(5.0)
        assert here.gateway.process.poll() is None
        assert max(seen) > 20, "the pools were never busy"
        assert open_files(here) - files_before < 100, "idle connections to engines at most"
        for engine in here.engines:
            assert [one for one in engine.requests if one.ended_at is None] == []
        await serves_again(here)
        assert "Traceback" not in here.gateway.output()


async def serves_again(here: Site) -> None:
    """Every replica is back, and no request fails."""

    def ready() -> bool:
        counts = [here.gateway.pool_status(role)["ready"] for role in ("speculative", "baseline")]
        return counts == [len(here.speculative), len(here.baseline)]

    await here.gateway.eventually(ready, 10.0)
    async with here.client() as client:
        for _ in range(20):
            assert (await client.post(CHAT, json=chat())).status_code == 200
    await here.gateway.assert_idle()
