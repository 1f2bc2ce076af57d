"""The verdict in words: what adaptive routing gained, where it lost, and what the run itself is worth."""

from collections.abc import Iterator, Sequence

import msgspec

from loadtest.stats.cells import Cell
from loadtest.stats.compare import Comparison, compare
from loadtest.stats.crossover import BASELINE, EVEN, SPECULATIVE, Crossover, crossover

SPILLWAY = "spillway"
LOW_SPEED, HIGH_THROUGHPUT, BETWEEN = 0.97, 0.97, 0.90


class Target(msgspec.Struct, frozen=True):
    """Something that routing must reach, and whether it did; a ratio, or a number of failures."""

    text: str
    figure: float
    passed: bool


class Verdict(msgspec.Struct, frozen=True):
    """What to conclude. `doubts` say why the figures may not be the server's."""

    crossover: Crossover | None
    comparisons: list[Comparison]
    targets: list[Target]
    sentences: list[str]
    doubts: list[str]


def judge(cells: Sequence[Cell], *, replicas: int = 1, threshold: int | None = None) -> Verdict:
    """The verdict on a sweep. `threshold`: the limit that was in force, if it is known."""
    found = crossover(cells, replicas)
    compared = compare(cells, SPILLWAY)
    return Verdict(
        crossover=found,
        comparisons=compared,
        targets=list(_targets(cells, compared)),
        sentences=[*_crossing(found, replicas, threshold), *_gains(compared), *_failures(cells)],
        doubts=list(doubts(cells)),
    )


def _crossing(found: Crossover | None, replicas: int, threshold: int | None) -> Iterator[str]:
    if found is None:
        return
    each = " per replica" if replicas > 1 else ""
    if found.at is not None:
        around = (
            f" ({found.at.low:.1f} to {found.at.high:.1f} over the repeats)" if found.at.low != found.at.high else ""
        )
        yield (
            f"The pools cross at {found.at.median:.1f} requests{each}{around}: from there on the baseline pool has the "
            "higher throughput."
        )
    elif found.always_better:
        yield f"Speculation was ahead at every level up to {found.levels[-1]}: the pools cross beyond that, if at all."
    else:
        yield "Speculation gained at no level with these prompts: the baseline pool was ahead throughout."
    if found.threshold is None:
        yield "Recommended: the policy pinned to the baseline pool, for traffic like this."
        return
    least = "at least " if found.held else ""
    now = f" (it was {threshold} in this run)" if threshold is not None and threshold != found.threshold else ""
    yield f"Recommended threshold: {least}{found.threshold}{now}."
    if (alike := found.alike) is not None:
        yield f"As good by this run: a threshold of {alike}, where the pools are {alike.why}."


def _gains(compared: Sequence[Comparison]) -> Iterator[str]:
    for one in compared:
        over = [
            f"{gain.throughput} of always-{name}" if name in (SPECULATIVE, BASELINE) else f"{gain.throughput} of {name}"
            for name, gain in one.over.items()
        ]
        speed = f"a request's speed {one.gain.per_request} of {one.best}"
        yield f"At {one.level}: throughput {' and '.join(over)}; {speed}."
    lost = [one for one in compared if one.gain.throughput.median < 1 - EVEN]
    if lost:
        worst = min(lost, key=lambda one: one.gain.throughput.median)
        where = ", ".join(str(one.level) for one in lost)
        yield (
            f"Spillway loses to the better arm at {where}: by {1 - worst.gain.throughput.median:.0%} at {worst.level}, "
            "where it loses most."
        )
    elif compared:
        yield f"Spillway is nowhere more than {EVEN:.0%} behind the better arm."


def _failures(cells: Sequence[Cell]) -> Iterator[str]:
    failed = [cell for cell in cells if cell.failed]
    if not failed:
        yield f"No request failed, of {sum(cell.requests for cell in cells)}."
    for cell in failed:
        yield f"{cell.failed} of {cell.requests} failed with {cell.arm} at {cell.level}: {'; '.join(cell.examples)}"


def _targets(cells: Sequence[Cell], compared: Sequence[Comparison]) -> Iterator[Target]:
    for one in compared:
        if one.level == 1 and SPECULATIVE in one.over:
            ratio = one.over[SPECULATIVE].per_request.median
            yield Target(
                f"one request runs at {LOW_SPEED} of always-speculative or more", ratio, passed=ratio >= LOW_SPEED
            )
    if compared and BASELINE in compared[-1].over:
        ratio = compared[-1].over[BASELINE].throughput.median
        text = f"{compared[-1].level} requests have {HIGH_THROUGHPUT} of always-baseline's throughput or more"
        yield Target(text, ratio, passed=ratio >= HIGH_THROUGHPUT)
    if between := [one for one in compared if 1 < one.level < compared[-1].level]:
        ratio = min(one.gain.throughput.median for one in between)
        text = f"in between, throughput is {BETWEEN} of the better arm's or more"
        yield Target(text, ratio, passed=ratio >= BETWEEN)
    failed = sum(cell.failed for cell in cells)
    yield Target("no request failed at any level", failed, passed=failed == 0)


def doubts(cells: Sequence[Cell]) -> Iterator[str]:
    """Why the figures may not be the server's."""
    bound = [cell for cell in cells if cell.generator_bound]
    if bound:
        worst = max(bound, key=lambda cell: cell.generator.cpu)
        yield (
            f"Generator-bound: it used {worst.generator.cpu:.0%} of a core with {worst.arm} at {worst.level}. "
            f"The figures of {_places(bound)} are a lower bound; run it on a faster machine, or several of it."
        )
    late = [cell for cell in cells if cell.late and not cell.generator_bound]
    if late:
        worst = max(late, key=lambda cell: cell.generator.late.p99)
        yield (
            f"The generator's timers were late (p99 {worst.generator.late.p99 * 1000:.1f} ms with {worst.arm} at "
            f"{worst.level}): its machine had no core free for it. TTFT and ITL of {_places(late)} include that."
        )
    if any(not cell.counted for cell in cells if cell.ok):
        yield "The server gave no usage: tokens are counted as events, and an event may carry several."


def _places(cells: Sequence[Cell]) -> str:
    found = sorted({(cell.arm, cell.level) for cell in cells})
    if len(found) > 6:
        return f"{len(found)} places"
    return ", ".join(f"{arm} at {level}" for arm, level in found)
