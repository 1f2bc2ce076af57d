"""Where the baseline pool overtakes the speculative pool, and the threshold that follows from it."""

import math
from collections.abc import Sequence

import msgspec

from loadtest.stats.cells import Cell
from loadtest.stats.compare import gain, levels
from loadtest.stats.numbers import Spread, spread

SPECULATIVE, BASELINE = "speculative", "baseline"


class Crossover(msgspec.Struct, frozen=True):
    """`at`: concurrency at one replica from which on the baseline pool has the higher throughput, over the repeats.

    `at` is None if there is none within what was measured: then either the speculative pool was better at every level
    (`always_better`), or the baseline pool was. `levels` are the concurrencies measured. `threshold` is the one to
    set; None if speculation gains at no level. `held` says that the threshold is only the highest level, and the
    crossing above it.
    """

    levels: list[int]
    ratios: list[float]
    at: Spread | None
    always_better: bool
    threshold: int | None
    held: bool = False


def crossing(points: Sequence[tuple[int, float]]) -> float | None:
    """Where a ratio given at rising levels falls below 1 for good, interpolated over the logarithm of the level.

    A ratio that dips below 1 and comes back above it later has not crossed there. None if the last one is not below
    1, or the first is the only one that could be above and is not.
    """
    last_above = max((place for place, (_, ratio) in enumerate(points) if ratio >= 1.0), default=None)
    if last_above is None or last_above == len(points) - 1:
        return None
    (low, above), (high, below) = points[last_above], points[last_above + 1]
    share = (above - 1.0) / (above - below)
    return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))


def crossover(cells: Sequence[Cell], replicas: int = 1) -> Crossover | None:
    """From the arms pinned to each pool. None without both of them at one level at least.

    `replicas`: how many each of the two pools had; a level is shared out over them. The threshold is the highest
    number of requests at which the speculative pool is not yet behind: that many, and no more, may be there at
    once.
    """
    both = [one for level in levels(cells) if (one := gain(cells, SPECULATIVE, BASELINE, level)) is not None]
    if not both:
        return None
    points = [(one.level, one.throughput.median) for one in both]
    at = crossing(points)
    better = at is None and points[-1][1] >= 1.0
    if at is None:
        threshold = max(1, points[-1][0] // replicas) if better else None
        return Crossover(
            [level for level, _ in points], [ratio for _, ratio in points], None, better, threshold, better
        )
    each = [found for found in (crossing(points) for points in _by_repeat(cells)) if found is not None]
    around = spread([*each, at]) if each else spread([at])
    return Crossover(
        levels=[level for level, _ in points],
        ratios=[ratio for _, ratio in points],
        at=Spread(at / replicas, around.low / replicas, around.high / replicas),
        always_better=False,
        threshold=max(1, math.floor(at / replicas + 1e-9)),
    )


def _by_repeat(cells: Sequence[Cell]) -> list[list[tuple[int, float]]]:
    found = []
    for repeat in sorted({cell.repeat for cell in cells}):
        mine = [cell for cell in cells if cell.repeat == repeat]
        gains = [one for level in levels(mine) if (one := gain(mine, SPECULATIVE, BASELINE, level)) is not None]
        found.append([(one.level, one.throughput.median) for one in gains])
    return found
