"""Reading the load of real servers: where it is found, when it counts, and when it no longer does."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.config import PoolConfig
from gateway.pools import Pool, Replica
from gateway.relay import Connections
from gateway.supervisor import Supervisor
from tests.pools.engine import Engine, an_engine

QUICK = {"path": "/health", "interval": 0.02, "timeout": 0.2, "unhealthy_after": 1}
ASKED = {"enabled": True, "interval_seconds": 0.02, "stale_after_seconds": 5}
LOADS = "/v1/loads?include=core&format=prometheus"


def page(count: int) -> str:
    return f"llamacpp:requests_processing {count}\nllamacpp:requests_deferred 0\n"


@dataclass
class Scene:
    """A pool of one replica in front of one engine."""

    engine: Engine
    pool: Pool
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def replica(self) -> Replica:
        (replica,) = self.pool.replicas.values()
        return replica

    def configure(self, **settings: Any) -> None:
        """What a reload does."""
        found = {"discovery": {"static": [self.engine.url]}, "health": QUICK, "engine": "llamacpp"}
        self.pool.reconfigure(PoolConfig.model_validate(found | settings))

    async def until(self, holds: Callable[[], object], seconds: float = 5.0) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)


@asynccontextmanager
async def scene(engine: Engine, /, **settings: Any) -> AsyncIterator[Scene]:
    """Once the replica is ready."""
    failures: Counter[str] = Counter()
    supervisor = Supervisor(
        Connections(time.monotonic),
        time.monotonic,
        lambda *_: None,
        lambda _, kind: failures.update([kind]),
    )
    here = Scene(engine, Pool("m", "speculative", supervisor, lambda: None), failures)
    here.configure(**settings)
    try:
        await here.until(lambda: here.pool.ready)
        yield here
    finally:
        await supervisor.close()


async def test_what_an_engine_holds_beside_ours_counts() -> None:
    async with an_engine() as engine, scene(engine, engine_load=ASKED) as here:
        engine.pages["/metrics"] = page(4)
        await here.until(lambda: here.pool.outside == 4)
        assert here.replica.outside == 4
        assert here.pool.load().outside == 4
        here.pool.inflight = here.replica.inflight = 3
        await here.until(lambda: here.pool.outside == 1)
        engine.pages["/metrics"] = page(3)
        await here.until(lambda: here.pool.outside == 0)
        assert not here.failures


async def test_nobody_asks_unless_told_to() -> None:
    async with an_engine() as engine, scene(engine) as here:
        engine.pages["/metrics"] = page(4)
        await engine.probed(10)
        assert here.replica.engine_load is None
        assert not engine.asked["/metrics"]
        assert here.pool.outside == 0


async def test_a_reload_turns_it_on_and_off() -> None:
    async with an_engine() as engine, scene(engine) as here:
        engine.pages["/metrics"] = page(4)
        here.configure(engine_load=ASKED)
        await here.until(lambda: here.pool.outside == 4)
        here.configure()
        await here.until(lambda: here.replica.engine_load is None)
        assert (here.replica.outside, here.pool.outside) == (0, 0)
        asked = engine.asked["/metrics"]
        await engine.probed(10)
        assert engine.asked["/metrics"] == asked


async def test_sglang_is_asked_at_its_second_path_where_it_lacks_the_first() -> None:
    async with an_engine() as engine, scene(engine, engine="sglang", engine_load=ASKED) as here:
        engine.pages["/metrics"] = "sglang:num_running_reqs 2\nsglang:num_queue_reqs 1\n"
        await here.until(lambda: here.pool.outside == 3)
        # What it found out it keeps.
        misses = engine.asked[LOADS]
        await here.until(lambda: engine.asked["/metrics"] > 10)
        assert engine.asked[LOADS] == misses
        # Until that path is gone, as after an upgrade without the flag.
        engine.pages = {LOADS: 'sglang_num_running_reqs{dp_rank="0"} 5\n'}
        await here.until(lambda: here.pool.outside == 5)


async def test_what_is_too_old_counts_no_more() -> None:
    stale = ASKED | {"stale_after_seconds": 0.2}
    async with an_engine() as engine, scene(engine, engine_load=stale) as here:
        engine.pages["/metrics"] = page(4)
        await here.until(lambda: here.pool.outside == 4)
        del engine.pages["/metrics"]
        await here.until(lambda: here.pool.outside == 0)
        load = here.replica.engine_load
        assert load is not None
        assert load.count is None
        assert load.error == "404 from /metrics: start the engine with --metrics"
        assert set(here.failures) == {"status"}
        engine.pages["/metrics"] = page(2)
        await here.until(lambda: here.pool.outside == 2)
        assert load.error is None


async def test_an_ejected_replica_has_no_load_from_elsewhere() -> None:
    """Its engine is not used, so what it does for others is no load of the pool."""
    async with an_engine() as engine, scene(engine, engine_load=ASKED) as here:
        engine.pages["/metrics"] = page(4)
        await here.until(lambda: here.pool.outside == 4)
        engine.mode = "unwell"
        await here.until(lambda: not here.pool.ready)
        assert (here.replica.outside, here.pool.outside) == (0, 0)
        asked = engine.asked["/metrics"]
        await engine.probed(10)
        assert engine.asked["/metrics"] <= asked + 1
        engine.mode = "ok"
        await here.until(lambda: here.pool.outside == 4)


async def test_a_replica_that_goes_takes_its_load_along() -> None:
    async with an_engine() as engine, scene(engine, engine_load=ASKED) as here:
        engine.pages["/metrics"] = page(4)
        await here.until(lambda: here.pool.outside == 4)
        here.pool.reconcile(())
        assert here.pool.outside == 0
        assert not here.pool.replicas


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (None, "status", "404 from /metrics: start the engine with --metrics"),
        ("hello", "unreadable", "has no count of requests that is known: start the engine with --metrics"),
    ],
)
async def test_failures_are_counted_and_told_once(
    answer: str | None, kind: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gateway.pools.load_reader")
    async with an_engine() as engine, scene(engine, engine_load=ASKED) as here:
        if answer is not None:
            engine.pages["/metrics"] = answer
        await here.until(lambda: here.failures[kind] >= 3)
        assert here.pool.outside == 0
        assert here.pool.ready
        assert set(here.failures) == {kind} or answer is not None
        lines = [record.getMessage() for record in caplog.records if words in record.getMessage()]
        assert lines == [f"m/speculative replica {engine.url} does not say how many requests it holds: {words}"]
        engine.pages["/metrics"] = page(0)
        await here.until(lambda: "says again" in caplog.text)
