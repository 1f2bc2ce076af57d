"""Cells with the figures that a test is about."""

from loadtest.client import Outcome, Sample
from loadtest.records import LOCUST, ArmInfo, Look, Results
from loadtest.stats import Cell, Generator, Quantiles, by_kind, in_flight, judge, judge_users

CALM = Generator(0.1, Quantiles())


def cell(
    arm: str,
    level: int,
    throughput: float,
    *,
    repeat: int = 0,
    ok: int = 10,
    cpu: float = 0.05,
    late: float = 0.0001,
    failures: dict[str, int] | None = None,
    pools: dict[str, int] | None = None,
) -> Cell:
    """One cell; its requests share its throughput evenly."""
    times = Quantiles(0.2, 0.2, 0.3, 0.4, 0.5)
    failed = failures or {}
    return Cell(
        arm=arm,
        level=level,
        repeat=repeat,
        began=0.0,
        seconds=10.0,
        requests=ok + sum(failed.values()),
        ok=ok,
        failures=failed,
        examples=[f"{kind}: why" for kind in failed],
        tokens=round(throughput * 10),
        prompt_tokens=100,
        counted=True,
        throughput=throughput,
        per_request=throughput / level,
        latency=times,
        ttft=times,
        tpot=times,
        itl=times,
        pools=pools or {"speculative": ok},
        reasons={"under_threshold": ok},
        generator=Generator(cpu, Quantiles(late, late, late, late, late)),
    )


SPECULATIVE = {1: 80.0, 4: 200.0, 16: 300.0}
BASELINE = {1: 54.0, 4: 180.0, 16: 600.0}
SPILLWAY = {1: 79.5, 4: 198.0, 16: 590.0}


def sweep(**arms: dict[int, float]) -> list[Cell]:
    """Cells of each arm from its throughput by level, in two repeats that differ by 2%."""
    return [
        cell(arm, level, rate * drift, repeat=repeat)
        for repeat, drift in enumerate((1.0, 0.98))
        for arm, rates in arms.items()
        for level, rate in rates.items()
    ]


def results(cells: list[Cell]) -> Results:
    """A run's results around these cells."""
    looks = [
        Look(
            at, "spillway", level, 0, {"speculative": min(level, 5), "baseline": max(0, level - 5)}, {"speculative": 5}
        )
        for level in (1, 4, 16)
        for at in (level * 10.0, level * 10.0 + 0.5, level * 10.0 + 1)
    ]
    return Results(
        created="2026-11-29T20:00:00+00:00",
        url="http://localhost:8080",
        model="<b>fake</b>",
        plan={"levels": [1, 4, 16], "repeats": 2},
        arms=[ArmInfo(arm, arm) for arm in dict.fromkeys(cell.arm for cell in cells)],
        cells=cells,
        looks=looks,
        verdict=judge(cells),
        policy={"kind": "threshold", "threshold": 5},
        replicas={"speculative": 1, "baseline": 1},
    )


def sample(start: float, seconds: float, pool: str = "speculative", outcome: Outcome = Outcome.OK) -> Sample:
    """A request with its first token after half of its time, and eleven tokens."""
    good = outcome is Outcome.OK
    return Sample(
        outcome,
        scheduled=start,
        end=start + seconds,
        sent=start,
        first=start + seconds / 2 if good else None,
        last=start + seconds if good else None,
        pool=pool,
        reason="under_threshold" if pool == "speculative" else "over_threshold",
        tokens=11 if good else 0,
        counted=True,
        detail="" if good else "503",
    )


SAMPLES = {
    "chat": [sample(100.0, 2.0), sample(101.0, 2.0), sample(101.5, 4.0, "baseline")],
    "tools": [sample(104.0, 6.0, "baseline"), sample(103.0, 1.0, "", Outcome.STATUS)],
}


def of_users() -> Results:
    """The results of a locust run with them."""
    cells = by_kind(SAMPLES, CALM)
    everything = [one for some in SAMPLES.values() for one in some]
    looks = [Look(at, "spillway", 3, 0, counts, {}) for at, counts in in_flight(everything, 0.5)]
    plan = {"shape": "spike", "peak": 3}
    found = Results(
        "2026-11-29T20:00:00+00:00", "http://localhost:8080", "fake", plan, [], cells, looks, judge_users(cells)
    )
    found.kind = LOCUST
    return found
