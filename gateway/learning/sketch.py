"""What was observed of a pool's speed, added up by in-flight count: no request is remembered."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from math import sqrt
from typing import NamedTuple

from gateway.routing import NODES

# The widest count that still falls to a node: half way to the next, by ratio.
_EDGES = [(before * after) ** 0.5 for before, after in pairwise(NODES)]
# Weights grow with time in place of all sums shrinking; past this they are scaled down together.
LARGE = 2.0**40
# Seconds within which observations weigh the same. The half-life, as a part of the time since the first observation,
# as long as that is less than the one asked for.
_STEP, _YOUTH = 0.5, 0.5
# In-flight counts that differ by less than this part are taken for the same.
_SAME = 1e-3
# Less of a request than this is nothing.
_NONE = 1e-9
# Counts within this factor of a node are near it. What is left of the requests at a count that was seen, for peaks are
# rare, and the last one's evidence has faded long before the next.
_NEIGHBOURS, _SOME = 1.3, 0.05
# So many halvings leave nothing.
FORGOTTEN = 128.0


# The number of the node next to a count.
nearest: Callable[[float], int] = partial(bisect_left, _EDGES)


class Point(NamedTuple):
    """The observations about one node: their mean in-flight, seconds per token, and how many they weigh as.

    `spread`: standard deviation of their in-flight; `slope`: by how much the seconds per token of one more in flight
    are more, among themselves (0 without a spread).
    """

    inflight: float
    pace: float
    requests: float
    spread: float = 0.0
    slope: float = 0.0


class Sketch:
    """Sums over observations, by the node that their in-flight is next to. An old one counts half per `half_life`.

    At first an observation counts half after half of the time that the sketch has been in use, so that the burst of a
    start, when all prompts come at once, is soon outweighed by what follows.

    Tokens and seconds are added up, not rates: a long answer tells more than a short one, and the quotient of the sums
    is right for any mix of lengths. While a pool is not used its sums do not age, save by a quarter of the half-life at
    the next observation: that nothing was seen is no evidence against what was.

    What was observed here is kept apart from what was told, so that it can be told to others; both count alike.
    """

    def __init__(self, half_life: float, *, young: bool = True) -> None:
        """`half_life` is in seconds; not `young`: it holds from the beginning.

        `aged`: how often what was added first has been halved since.
        """
        self.half_life = half_life
        self._least = 0.0 if young else half_life
        self.aged = 0.0
        self._begin()

    def _begin(self) -> None:
        self._weight = 1.0
        self._at: float | None = None
        self._age = 0.0
        # By node: requests, tokens, seconds, seconds x in-flight, tokens x in-flight and tokens x its square.
        self._own, self._told = _nothing(), _nothing()

    def add(
        self, at: float, inflight: float, tokens: float, seconds: float, share: float = 1.0, *, told: bool = False
    ) -> None:
        """Take in `tokens` in `seconds` at a mean of `inflight`; `share`: as how much of a request it counts.

        `told`: it was not observed here.
        """
        if self._at is None:
            self._at = at
        elif at - self._at > _STEP:
            self._fade(at - self._at)
            self._at = at
        row = (self._told if told else self._own)[bisect_left(_EDGES, inflight)]
        weight = self._weight * share
        tokens *= weight
        seconds *= weight
        reach = tokens * inflight
        row[0] += weight
        row[1] += tokens
        row[2] += seconds
        row[3] += seconds * inflight
        row[4] += reach
        row[5] += reach * inflight

    def near(self) -> list[float]:
        """Requests observed next to each node."""
        return [(own[0] + told[0]) / self._weight for own, told in zip(self._own, self._told, strict=True)]

    def points(self) -> list[Point]:
        """What there is, by rising in-flight."""
        weight = self._weight
        return [_point(row, weight) for row in self._both() if row[0] / weight > _NONE]

    def dump(self) -> list[list[float]]:
        """The sums of each node that has any: node, requests, tokens, seconds, seconds x in-flight; then tokens x
        in-flight, and x its square."""
        return self._scaled(self._both())

    def own(self) -> list[list[float]]:
        """As `dump`, of what was observed here since `start_telling`."""
        return self._scaled(self._own)

    def start_telling(self) -> None:
        """What there is until now is not `own`."""
        self._told, self._own = self._both(), _nothing()

    def merge(self, rows: Sequence[Sequence[float]], share: float = 1.0) -> None:
        """Add what another has dumped, as if it had been told just now; the last two of a row may be missing."""
        for node, requests, tokens, seconds, moment, *more in rows:
            mean = moment / seconds if seconds else 0.0
            values = requests, tokens, seconds, moment, *(more or (tokens * mean, tokens * mean * mean))
            held = self._told[int(node)]
            held[:] = [have + value * self._weight * share for have, value in zip(held, values, strict=True)]

    def forget(self) -> None:
        """Begin anew. For `aged`, what there was has faded."""
        self._begin()
        self.aged += FORGOTTEN

    def _fade(self, passed: float) -> None:
        self._age += passed
        half_life = _YOUTH * self._age
        if half_life < self._least:
            half_life = self._least
        if half_life > self.half_life:
            half_life = self.half_life
        halvings = 0.25 if passed >= 0.25 * half_life else passed / half_life
        self._weight *= 2.0**halvings
        self.aged += halvings
        if self._weight > LARGE:
            self._rescale()

    def _both(self) -> list[list[float]]:
        return [_sum(own, told) for own, told in zip(self._own, self._told, strict=True)]

    def _scaled(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        weight = self._weight
        return [[node, *(value / weight for value in row)] for node, row in enumerate(rows) if row[0] / weight > _NONE]

    def _rescale(self) -> None:
        for row in (*self._own, *self._told):
            row[:] = [value / self._weight for value in row]
        self._weight = 1.0


def highest(points: Sequence[Point]) -> float:
    """The most in flight that was seen."""
    return max((point.inflight for point in points if point.requests >= _SOME), default=0.0)


def around(points: Sequence[Point]) -> tuple[float, ...]:
    """Requests observed near each node."""
    counts = [point.inflight for point in points]
    sums = [0.0, *accumulate(point.requests for point in points)]
    return tuple(
        sums[bisect_right(counts, node * _NEIGHBOURS)] - sums[bisect_left(counts, node / _NEIGHBOURS)] for node in NODES
    )


def _nothing() -> list[list[float]]:
    return [[0.0] * 6 for _ in NODES]


def _sum(own: list[float], told: list[float]) -> list[float]:
    if not told[0]:
        return own
    return [mine + theirs for mine, theirs in zip(own, told, strict=True)] if own[0] else told


def _point(row: Sequence[float], weight: float) -> Point:
    held, tokens, seconds, moment, reach, square = row
    mean, pace, requests = reach / tokens, seconds / tokens, held / weight
    variance = square / tokens - mean * mean
    if variance <= (_SAME * mean) ** 2:
        return Point(mean, pace, requests)
    # Seconds = tokens x (a + slope x in-flight), by least squares with tokens for weights.
    return Point(mean, pace, requests, sqrt(variance), (moment / tokens - mean * pace) / variance)
