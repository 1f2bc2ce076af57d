"""Real engines as endpoints of two Services, under load throughout: one more, one rolled away, one killed and back."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.model import prepare_model
from tests.kube.conftest import Kubectl
from tests.kube.serving import Cluster, Load, cluster, discovered, label, load, registration
from tests.kube.shapes import terminating
from tests.support import config as files

SPECULATIVE, BASELINE = "k2-speculative", "k2-baseline"
SLOTS = 6
SECONDS = 30.0
TEXT = "def area(width, height):\n    return width * height\n"
BODY = {
    "model": MODEL_NAME,
    "messages": [{"role": "user", "content": f"Repeat this code, with the names in upper case:\n\n{TEXT}"}],
    "max_tokens": 24,
    "temperature": 0,
}


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[LocalEngine, LocalEngine, LocalEngine]]:
    """One that drafts and two that do not, loaded side by side."""
    model = prepare_model()
    fast = LocalEngine(model, name="speculative", drafting=Drafting(), slots=SLOTS, context=256)
    first, second = (LocalEngine(model, name=f"baseline-{number}", slots=SLOTS, context=256) for number in (1, 2))
    with ExitStack() as stack:
        for engine in (fast, first, second):
            stack.callback(engine.stop)
            engine.start()
        for engine in (fast, first, second):
            engine.wait_ready()
        yield fast, first, second


def settings() -> files.Settings:
    pools = {
        role: discovered(service) | {"engine": "llamacpp", "max_inflight": SLOTS}
        for role, service in (("speculative", SPECULATIVE), ("baseline", BASELINE))
    }
    limits = {"connect_seconds": 5, "first_byte_seconds": SECONDS, "idle_seconds": SECONDS}
    model = files.model(pools["speculative"], pools["baseline"], name=MODEL_NAME, policy={"threshold": 2})
    return files.config(model, limits=limits)


async def test_scaling_rolling_and_a_crash_cost_no_request_that_could_be_saved(
    engines: tuple[LocalEngine, LocalEngine, LocalEngine], kubectl: Kubectl, kubeconfig: Path
) -> None:
    fast, old, fresh = engines
    with cluster(kubectl, kubeconfig, settings()) as here:
        await here.apply(registration(fast, service=SPECULATIVE), registration(old, service=BASELINE))
        await here.serves(fast, role="speculative", seconds=SECONDS)
        await here.serves(old, seconds=SECONDS)
        async with load(here, BODY, streaming=4, whole=2, patience=2 * SECONDS) as callers:
            await answers(here, callers, old)
            await scale_up(here, callers, fresh)
            await roll_away(here, old)
            assert (callers.broken, callers.failed) == ([], [])
            await crash_and_return(here, callers, fast)
        assert callers.failed == []
        assert set(callers.broken) <= {label(fast)}, "only what the killed engine had begun"
        await here.gateway.assert_idle()


async def answers(here: Cluster, callers: Load, engine: LocalEngine) -> None:
    """Wait for one more answer of this engine."""
    before = callers.answered.count(label(engine))
    await eventually(here, lambda: callers.answered.count(label(engine)) > before)


async def scale_up(here: Cluster, callers: Load, engine: LocalEngine) -> None:
    await here.apply(registration(engine, service=BASELINE))
    await answers(here, callers, engine)


async def roll_away(here: Cluster, engine: LocalEngine) -> None:
    """Terminating while it works: it gets nothing new, finishes what it has, and is stopped then."""
    await eventually(here, lambda: inflight(here, engine))
    await here.apply(registration(engine, terminating, service=BASELINE))
    await eventually(here, lambda: here.replica(engine).get("state") != "ready")
    counts = [inflight(here, engine)]
    while counts[-1]:
        await asyncio.sleep(0.02)
        counts.append(inflight(here, engine))
    assert counts == sorted(counts, reverse=True), "nothing new"
    await eventually(here, lambda: not here.replica(engine))
    await asyncio.to_thread(engine.stop)
    await here.delete(engine)


async def crash_and_return(here: Cluster, callers: Load, engine: LocalEngine) -> None:
    """SIGKILL while it works. It stays an endpoint, as one does whose container is restarted."""
    await eventually(here, lambda: inflight(here, engine, "speculative") == 2)
    await asyncio.to_thread(engine.kill)
    await here.serves(role="speculative", seconds=SECONDS)
    await asyncio.to_thread(engine.start)
    await asyncio.to_thread(engine.wait_ready)
    await answers(here, callers, engine)


def inflight(here: Cluster, engine: LocalEngine, role: str = "baseline") -> int:
    return int(here.replica(engine, role).get("inflight", 0))


async def eventually(here: Cluster, holds: Callable[[], object]) -> None:
    await here.gateway.eventually(holds, SECONDS)
