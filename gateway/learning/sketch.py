"""What was observed of a pool's speed, added up by in-flight count: no request is remembered."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gateway.routing import NODES

# The widest count that still falls to a node: half way to the next, by ratio.
_EDGES = [(before * after) ** 0.5 for before, after in pairwise(NODES)]
# Weights grow with time in place of all sums shrinking; past this they are scaled down together.
_LARGE = 2.0**40
# Seconds within which observations weigh the same.
_STEP = 0.5


def nearest(inflight: float) -> int:
    """The number of the node next to this count."""
    return bisect_left(_EDGES, inflight)


class Point(NamedTuple):
    """The observations about one node: their mean in-flight, seconds per token, and how many they weigh as."""

    inflight: float
    pace: float
    requests: float


class Sketch:
    """Sums over observations, by the node that their in-flight is next to. An old one counts half per `half_life`.

    Tokens and seconds are added up, not rates: a long answer tells more than a short one, and the quotient of the sums
    is right for any mix of lengths. While a pool is not used its sums do not age, save by a quarter of the half-life at
    the next observation: that nothing was seen is no evidence against what was.
    """

    def __init__(self, half_life: float) -> None:
        """`half_life` is in seconds. `aged`: how often what was added first has been halved since."""
        self.half_life = half_life
        self.aged = 0.0
        self._weight = 1.0
        self._at: float | None = None
        size = len(NODES)
        self._requests, self._tokens = [0.0] * size, [0.0] * size
        self._seconds, self._moment = [0.0] * size, [0.0] * size

    def add(self, at: float, inflight: float, tokens: float, seconds: float, share: float = 1.0) -> None:
        """Take in `tokens` in `seconds` at a mean of `inflight`; `share`: as how much of a request it counts."""
        if self._at is None:
            self._at = at
        elif at - self._at > _STEP:
            halvings = min((at - self._at) / self.half_life, 0.25)
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

    def near(self, inflight: float) -> float:
        """Requests observed next to this count."""
        return self._requests[nearest(inflight)] / self._weight

    def points(self) -> list[Point]:
        """What there is, by rising in-flight."""
        return [
            Point(self._moment[node] / self._seconds[node], self._seconds[node] / self._tokens[node], weight)
            for node, weight in enumerate(held / self._weight for held in self._requests)
            if weight > 1e-9
        ]

    def dump(self) -> list[list[float]]:
        """The sums of each node that has any: node, requests, tokens, seconds, seconds x in-flight."""
        rows = zip(self._requests, self._tokens, self._seconds, self._moment, strict=True)
        scaled = ([value / self._weight for value in row] for row in rows)
        return [[node, *row] for node, row in enumerate(scaled) if row[0] > 1e-9]

    def merge(self, rows: Sequence[Sequence[float]], share: float = 1.0) -> None:
        """Add what another has dumped, as if it had been observed just now."""
        for node, *row in rows:
            requests, tokens, seconds, moment = (value * self._weight * share for value in row)
            at = int(node)
            self._requests[at] += requests
            self._tokens[at] += tokens
            self._seconds[at] += seconds
            self._moment[at] += moment

    def _rescale(self) -> None:
        for sums in (self._requests, self._tokens, self._seconds, self._moment):
            sums[:] = [value / self._weight for value in sums]
        self._weight = 1.0
