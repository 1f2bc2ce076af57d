"""What is reported is what the engine did: TTFT, ITL, TPOT and throughput, against the engine's own log."""

import statistics
from collections.abc import Iterator
from itertools import pairwise

import httpx
import pytest

from loadtest.client import Ask, parse_target
from loadtest.records import line
from loadtest.stats import Cell
from loadtest.sweep import Arm, Plan, StatusClient, Sweep
from tests.loadtest.drivers import DRIVERS, ask
from tests.loadtest.scripted import Scripted, Span, scripted_engine

SHARE = 0.02
# Two timers of a millisecond and a switch between processes; medians keep single delays of a busy machine out.
RESOLUTION = 0.006
SCRIPT = {"ttft": 0.4, "gap": 0.05, "events": 20, "tokens": 60}


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted_engine() as running:
        yield running


def same(reported: float, logged: float) -> bool:
    return abs(reported - logged) <= SHARE * logged + RESOLUTION


@pytest.mark.parametrize("driver", DRIVERS)
async def test_times_match_the_engines_log(engine: Scripted, driver: str) -> None:
    before = len(engine.log())
    samples = await DRIVERS[driver](engine.url, [ask(script=SCRIPT) for _ in range(6)], 30.0)
    spans = engine.log()[before:]
    assert [sample.outcome for sample in samples] == ["ok"] * 6
    assert {sample.tokens for sample in samples} == {60}
    assert {sample.prompt_tokens for sample in samples} == {7}
    assert {sample.events for sample in samples} == {20}
    assert all(sample.counted for sample in samples)
    ttft = [sample.ttft for sample in samples if sample.ttft is not None]
    assert same(statistics.median(ttft), statistics.median(span.ttft for span in spans))
    assert same(
        statistics.median(gap for sample in samples for gap in sample.gaps),
        statistics.median(gap for span in spans for gap in span.gaps),
    )
    tpot = [sample.tpot for sample in samples if sample.tpot is not None]
    assert same(statistics.median(tpot), statistics.median((span.sent[-1] - span.sent[0]) / 59 for span in spans))
    durations = [span.sent[-1] - span.received for span in spans]
    assert same(statistics.median(sample.duration for sample in samples), statistics.median(durations))


async def swept(engine: Scripted, plan: Plan) -> tuple[list[Cell], list[Span]]:
    """A sweep's cells, and the engine's log of them without the warm-up."""
    cells: list[Cell] = []
    before = len(engine.log())
    async with httpx.AsyncClient(trust_env=False) as http:
        status = StatusClient(http, engine.url, "fake")
        sweep = Sweep(plan, parse_target(engine.url), "fake", status=status, timeout=30.0, say=lambda _: None)
        await sweep.run(lambda cell, _: cells.append(cell))
    return cells, engine.log()[before + plan.warmup :]


async def test_a_sweep_reports_what_the_engine_did(engine: Scripted) -> None:
    plan = Plan(
        (Arm("engine"),),
        (1, 4),
        repeats=1,
        requests=4,
        warmup=1,
        warm_levels=False,
        settle=0.0,
        body={"script": SCRIPT},
    )
    cells, spans = await swept(engine, plan)
    assert [(cell.level, cell.ok, cell.requests, cell.failures) for cell in cells] == [(1, 4, 4, {}), (4, 8, 8, {})]
    assert [cell.tokens for cell in cells] == [240, 480]
    for cell, mine in zip(cells, (spans[:4], spans[4:]), strict=True):
        seconds = max(span.sent[-1] for span in mine) - min(span.received for span in mine)
        assert abs(cell.throughput / (cell.tokens / seconds) - 1) <= SHARE + RESOLUTION
        assert same(cell.seconds, seconds)
        assert same(cell.ttft.p50, statistics.median(span.ttft for span in mine))
        assert same(cell.itl.p50, statistics.median(gap for span in mine for gap in span.gaps))
        assert f"ok: {cell.ok}/{cell.requests}" in line(cell)


async def test_the_loop_is_closed(engine: Scripted) -> None:
    """At a level of two never more than two are at the engine, and the next comes as soon as one has ended."""
    plan = Plan(
        (Arm("engine"),),
        (2,),
        repeats=1,
        requests=6,
        warmup=1,
        warm_levels=False,
        settle=0.0,
        body={"script": {"ttft": 0.05, "gap": 0.02, "events": 5, "tokens": 5}},
    )
    _, spans = await swept(engine, plan)
    changes = sorted([(span.received, 1) for span in spans] + [(span.sent[-1], -1) for span in spans])
    running, most = 0, 0
    for _, change in changes:
        running += change
        most = max(most, running)
    assert most == 2
    assert len(spans) == 6


async def test_latency_counts_from_when_a_request_was_due(engine: Scripted) -> None:
    import time

    from loadtest.client import AsyncClient

    late = 0.3
    async with AsyncClient(parse_target(engine.url)) as client:
        sample = await client.ask(
            Ask({"script": {"ttft": 0.0, "gap": 0.0, "events": 2, "tokens": 2}}), time.perf_counter() - late
        )
    assert sample.ok
    assert sample.ttft is not None
    assert sample.sent is not None
    assert sample.ttft >= late
    assert sample.duration >= sample.ttft >= sample.sent - sample.scheduled >= late


def test_one_clock_for_all_processes(engine: Scripted) -> None:
    """What these tests rest on: the engine's log is on this process' clock."""
    import time

    start = time.perf_counter()
    httpx.post(
        f"{engine.url}/v1/chat/completions",
        json={"script": {"ttft": 0, "gap": 0, "events": 3, "tokens": 3}},
        trust_env=False,
    )
    span = engine.log()[-1]
    assert start <= span.received <= span.sent[0] <= span.sent[-1] <= time.perf_counter()
    assert all(earlier <= later for earlier, later in pairwise(span.sent))
