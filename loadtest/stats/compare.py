"""Arms against each other, level by level."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from loadtest.stats.cells import Cell
from loadtest.stats.numbers import Spread, spread

Figure = Callable[[Cell], float]


class Gain(msgspec.Struct, frozen=True):
    """One arm over another at one level: ratios within each repeat, so that what drifts between repeats cancels out."""

    level: int
    arm: str
    over: str
    throughput: Spread
    per_request: Spread


class Comparison(msgspec.Struct, frozen=True):
    """One level: the arm over the best of the others, by the others' median throughput, and over each of them."""

    level: int
    best: str
    gain: Gain
    over: dict[str, Gain]


def by_repeat(cells: Iterable[Cell], arm: str, level: int) -> dict[int, Cell]:
    """An arm's cells at a level that have anything to compare."""
    return {cell.repeat: cell for cell in cells if cell.arm == arm and cell.level == level and cell.ok}


def levels(cells: Iterable[Cell]) -> list[int]:
    """Every level, in rising order."""
    return sorted({cell.level for cell in cells})


def arms(cells: Iterable[Cell]) -> list[str]:
    """Every arm, in the order in which they were measured first."""
    return list(dict.fromkeys(cell.arm for cell in cells))


def figure(cells: Iterable[Cell], arm: str, level: int, of: Figure) -> Spread | None:
    """A figure of an arm at a level, over its repeats. None if no request succeeded there."""
    found = [of(cell) for cell in by_repeat(cells, arm, level).values()]
    return spread(found) if found else None


def gain(cells: Sequence[Cell], arm: str, over: str, level: int) -> Gain | None:
    """An arm over another at a level. None if either has nothing there in any one repeat."""
    mine, theirs = by_repeat(cells, arm, level), by_repeat(cells, over, level)
    pairs = [(mine[repeat], theirs[repeat]) for repeat in sorted(mine.keys() & theirs.keys())]
    if not pairs:
        return None

    def ratios(of: Figure) -> Spread:
        return spread([of(one) / of(other) for one, other in pairs])

    return Gain(level, arm, over, ratios(lambda cell: cell.throughput), ratios(lambda cell: cell.per_request))


def compare(cells: Sequence[Cell], arm: str) -> list[Comparison]:
    """An arm against all others, at each level where there is something to compare."""
    found = []
    others = [other for other in arms(cells) if other != arm]
    for level in levels(cells):
        gains = {other: one for other in others if (one := gain(cells, arm, other, level)) is not None}
        if gains:
            best = max(gains, key=lambda other: _median_throughput(cells, other, level))
            found.append(Comparison(level, best, gains[best], gains))
    return found


def _median_throughput(cells: Sequence[Cell], arm: str, level: int) -> float:
    found = figure(cells, arm, level, lambda cell: cell.throughput)
    return found.median if found else 0.0
