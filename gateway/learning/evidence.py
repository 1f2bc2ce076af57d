"""Requests of one kind: their sums, and what the last fit made of them, with which new ones are compared."""

from bisect import bisect_left
from math import inf, log
from typing import NamedTuple

from gateway.learning.fit import fit
from gateway.learning.sketch import Sketch, nearest
from gateway.routing import NODES

# So many nodes, all unknown.
_UNKNOWN = [inf] * len(NODES)
# Requests near a count before new ones there are compared with them.
_COMPARABLE = 4.0
# Standard deviation of the logarithm of what so few requests as one tell of the curve at their count: those that came
# together had others' prompts to wait for in common. It falls with their number.
_SHAPE = 0.8
# Seconds within which requests end together.
TOGETHER = 0.25


class Speed(NamedTuple):
    """What one request ran at, at a mean of `inflight`, or each of so many `requests`.

    `guest`: most of the load was in the other pool, on the same hardware. `doubt`: how far the speed may be off because
    some of it was, as a variance of its logarithm.
    """

    at: float
    inflight: float
    tokens: float
    seconds: float
    guest: bool = False
    requests: float = 1.0
    doubt: float = 0.0


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
        self.doubts = _UNKNOWN

    def fit(self, noise: float) -> None:
        """Take what has come in into account. `noise`: variance of one observation's logarithm."""
        points = self.sketch.points()
        self.paces = fit(points, noise) if points else []
        self.doubts = [self._doubt(near) for near in self.sketch.near()] if points else _UNKNOWN

    def compare(self, inflight: float, tokens: float, seconds: float) -> tuple[float, float]:
        """How fast that was against the curve, as a logarithm, and its doubt there; infinite: that can't be said."""
        doubt = self.doubts[nearest(inflight)]
        if doubt == inf:
            return 0.0, inf
        paces = self.paces
        at = bisect_left(NODES, inflight)
        if at == 0:
            pace = paces[0]
        elif at == len(NODES):
            pace = paces[-1]
        else:
            low, below = NODES[at - 1], paces[at - 1]
            pace = below + (inflight - low) / (NODES[at] - low) * (paces[at] - below)
        return log(tokens * pace / seconds), doubt

    def forget(self) -> None:
        """Begin anew."""
        self.sketch.forget()
        self.paces, self.doubts = [], _UNKNOWN

    def _doubt(self, near: float) -> float:
        if near < _COMPARABLE:
            return inf
        return (_SHAPE / near) ** 2 if self._doubted else 0.0
