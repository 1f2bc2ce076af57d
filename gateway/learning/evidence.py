"""Requests of one kind: their sums, and what the last fit made of them, with which new ones are compared."""

from bisect import bisect_left
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from gateway.learning.fit import fit
from gateway.learning.sketch import Sketch
from gateway.routing import NODES

# Requests near a count before new ones there are compared with them.
_COMPARABLE = 4.0
# Standard deviation of the logarithm of what so few requests as one tell of the curve at their count: those that came
# together had others' prompts to wait for in common. It falls with their number.
_SHAPE = 0.8
# Seconds within which requests end together.
TOGETHER = 0.25


class Speed(NamedTuple):
    """What one request ran at, at a mean of `inflight`, or each of so many `requests`.

    `guest`: most of the load was in the other pool, on the same hardware.
    """

    at: float
    inflight: float
    tokens: float
    seconds: float
    guest: bool = False
    requests: float = 1.0


class Evidence:
    """`paces`: seconds per token at each node, empty before the first fit.

    `doubts`: how far the curve may be off at each node, as a variance of its logarithm; infinite where too few
    requests were seen for others to be compared with. Like the curve, it is that of the last fit: requests that came
    since have made neither surer, and in a burst hundreds come in between.
    """

    def __init__(self, sketch: Sketch, *, doubted: bool = True) -> None:
        """Not `doubted`: guests are few by their nature, and come one by one."""
        self.sketch = sketch
        self._doubted = doubted
        self.paces: list[float] = []
        self.doubts: list[float] = []

    def fit(self, noise: float) -> None:
        """Take what has come in into account. `noise`: variance of one observation's logarithm."""
        points = self.sketch.points()
        self.paces = fit(points, noise) if points else []
        self.doubts = [self._doubt(near) for near in self.sketch.near()] if points else []

    def forget(self) -> None:
        """Begin anew."""
        self.sketch.forget()
        self.paces, self.doubts = [], []

    def _doubt(self, near: float) -> float:
        if near < _COMPARABLE:
            return inf
        return (_SHAPE / near) ** 2 if self._doubted else 0.0


def pace_at(paces: Sequence[float], count: float) -> float:
    """Seconds per token at any in-flight count."""
    at = bisect_left(NODES, count)
    if at == 0:
        return paces[0]
    if at == len(NODES):
        return paces[-1]
    part = (count - NODES[at - 1]) / (NODES[at] - NODES[at - 1])
    return paces[at - 1] + part * (paces[at] - paces[at - 1])
