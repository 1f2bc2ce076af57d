"""What was observed of a pool's speed, added up by in-flight count: no request is remembered."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

from gateway.routing import NODES

# The widest count that still falls to a node: half way to the next, by ratio.
_EDGES = [(before * after) ** 0.5 for before, after in pairwise(NODES)]
# Weights grow with time in place of all sums shrinking; past this they are scaled down together.
_LARGE = 2.0**40
# Seconds within which observations weigh the same. The half-life, as a part of the time since the first observation,
# as long as that is less than the one asked for.
_STEP, _YOUTH = 0.5, 0.5
# In-flight counts that differ by less than this part are taken for the same.
_SAME = 1e-3


def nearest(inflight: float) -> int:
    """The number of the node next to this count."""
    return bisect_left(_EDGES, inflight)


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
    """

    def __init__(self, half_life: float, *, young: bool = True, slopes: bool = True) -> None:
        """`half_life` is in seconds; not `young`: it holds from the beginning. `slopes`: whether points shall have one.

        `aged`: how often what was added first has been halved since.
        """
        self.half_life = half_life
        self._least = 0.0 if young else half_life
        self._slopes = slopes
        self.aged = 0.0
        self._weight = 1.0
        self._at: float | None = None
        size = len(NODES)
        self._requests, self._tokens = [0.0] * size, [0.0] * size
        self._seconds, self._moment = [0.0] * size, [0.0] * size
        # Tokens x in-flight and tokens x its square.
        self._reach, self._square = [0.0] * size, [0.0] * size
        self._age = 0.0

    def add(self, at: float, inflight: float, tokens: float, seconds: float, share: float = 1.0) -> None:
        """Take in `tokens` in `seconds` at a mean of `inflight`; `share`: as how much of a request it counts."""
        if self._at is None:
            self._at = at
        elif at - self._at > _STEP:
            passed = at - self._at
            self._age += passed
            halvings = min(passed / min(self.half_life, max(_YOUTH * self._age, self._least)), 0.25)
            self._weight *= 2**halvings
            self.aged += halvings
            self._at = at
            if self._weight > _LARGE:
                self._rescale()
        node, weight = nearest(inflight), self._weight * share
        self._requests[node] += weight
        self._tokens[node] += weight * tokens
        self._seconds[node] += weight * seconds
        self._moment[node] += weight * seconds * inflight
        if self._slopes:
            reach = weight * tokens * inflight
            self._reach[node] += reach
            self._square[node] += reach * inflight

    def near(self) -> list[float]:
        """Requests observed next to each node."""
        return [held / self._weight for held in self._requests]

    def points(self) -> list[Point]:
        """What there is, by rising in-flight."""
        return [self._point(node) for node, held in enumerate(self._requests) if held / self._weight > 1e-9]

    def dump(self) -> list[list[float]]:
        """The sums of each node that has any: node, requests, tokens, seconds, seconds x in-flight; then tokens x
        in-flight, and x its square."""
        rows = zip(*self._sums(), strict=True)
        scaled = ([value / self._weight for value in row] for row in rows)
        return [[node, *row] for node, row in enumerate(scaled) if row[0] > 1e-9]

    def merge(self, rows: Sequence[Sequence[float]], share: float = 1.0) -> None:
        """Add what another has dumped, as if it had been observed just now; the last two of a row may be missing."""
        for node, requests, tokens, seconds, moment, *more in rows:
            mean = moment / seconds if seconds else 0.0
            row = requests, tokens, seconds, moment, *(more or (tokens * mean, tokens * mean * mean))
            for sums, value in zip(self._sums(), row, strict=True):
                sums[int(node)] += value * self._weight * share

    def _point(self, node: int) -> Point:
        tokens, seconds = self._tokens[node], self._seconds[node]
        mean, pace = self._reach[node] / tokens, seconds / tokens
        requests = self._requests[node] / self._weight
        variance = self._square[node] / tokens - mean * mean
        if variance <= (_SAME * mean) ** 2:
            return Point(mean, pace, requests)
        # Seconds = tokens x (a + slope x in-flight), by least squares with tokens for weights.
        return Point(mean, pace, requests, sqrt(variance), (self._moment[node] / tokens - mean * pace) / variance)

    def _sums(self) -> tuple[list[float], ...]:
        return self._requests, self._tokens, self._seconds, self._moment, self._reach, self._square

    def _rescale(self) -> None:
        for sums in self._sums():
            sums[:] = [value / self._weight for value in sums]
        self._weight = 1.0
