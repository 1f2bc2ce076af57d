"""Where the baseline pool overtakes the speculative pool, and the threshold that follows from it."""

import math
from collections.abc import Sequence

import msgspec

from loadtest.stats.cells import Cell
from loadtest.stats.compare import Gain, gain, levels
from loadtest.stats.numbers import Spread, spread

SPECULATIVE, BASELINE = "speculative", "baseline"
EVEN = 0.02  # a ratio so near to 1 is called even


class Alike(msgspec.Struct, frozen=True):
    """Thresholds that a run can't tell from the one it found: `least` to `most`, or more if it measured no `higher`.

    At these numbers of requests the pools were within EVEN of each other, or nearer than the repeats were. `repeats`:
    how many there were; one says nothing of how much they differ.
    """

    least: int
    most: int
    higher: bool
    repeats: int

    def __str__(self) -> str:
        if self.higher:
            return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        return f"{self.least} or more" if self.least == self.most else f"{self.least} to {self.most} or more"

    @property
    def why(self) -> str:
        """In words."""
        if self.repeats == 1:
            return f"within {EVEN:.0%} of even; with one repeat, how much runs differ is not known"
        return f"within {EVEN:.0%} of even in one of the {self.repeats} repeats, or ahead in one and behind in another"


class Crossover(msgspec.Struct, frozen=True):
    """`at`: concurrency at one replica from which on the baseline pool has the higher throughput, over the repeats.

    `at` is None if there is none within what was measured: then either the speculative pool was better at every level
    (`always_better`), or the baseline pool was. `levels` are the concurrencies measured. `threshold` is the one to
    set; None if speculation gains at no level. `held` says that the threshold is only the highest level, and the
    crossing above it. `alike` is None without a threshold, and in results of before it was told.
    """

    levels: list[int]
    ratios: list[float]
    at: Spread | None
    always_better: bool
    threshold: int | None
    held: bool = False
    alike: Alike | None = None


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
            [level for level, _ in points],
            [ratio for _, ratio in points],
            None,
            better,
            threshold,
            better,
            _alike(cells, both, replicas) if better else None,
        )
    each = [found for found in (crossing(points) for points in _by_repeat(cells)) if found is not None]
    around = spread([*each, at]) if each else spread([at])
    return Crossover(
        levels=[level for level, _ in points],
        ratios=[ratio for _, ratio in points],
        at=Spread(at / replicas, around.low / replicas, around.high / replicas),
        always_better=False,
        threshold=max(1, math.floor(at / replicas + 1e-9)),
        alike=_alike(cells, both, replicas),
    )


def _alike(cells: Sequence[Cell], gains: Sequence[Gain], replicas: int) -> Alike:
    """Where the least ratios that may be meant cross, and the greatest."""
    least = [(one.level, one.throughput.low * (1.0 - EVEN)) for one in gains]
    most = [(one.level, one.throughput.high * (1.0 + EVEN)) for one in gains]
    ends = [_end(points, replicas) for points in (least, most)]
    return Alike(ends[0], ends[1], most[-1][1] < 1.0, len({cell.repeat for cell in cells}))


def _end(points: Sequence[tuple[int, float]], replicas: int) -> int:
    at = crossing(points)
    if at is None:
        at = float(points[-1][0] if points[-1][1] >= 1.0 else 1)
    return max(1, math.floor(at / replicas + 1e-9))


def _by_repeat(cells: Sequence[Cell]) -> list[list[tuple[int, float]]]:
    found = []
    for repeat in sorted({cell.repeat for cell in cells}):
        mine = [cell for cell in cells if cell.repeat == repeat]
        gains = [one for level in levels(mine) if (one := gain(mine, SPECULATIVE, BASELINE, level)) is not None]
        found.append([(one.level, one.throughput.median) for one in gains])
    return found
