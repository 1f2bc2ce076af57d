"""Requests of one kind: their sums, and what the last fit made of them, with which new ones are compared."""

from bisect import bisect_left
from collections.abc import Sequence
from math import inf, log
from typing import NamedTuple

from gateway.learning.fit import fit
from gateway.learning.sketch import Sketch, nearest
from gateway.routing import NODES

# So many nodes, all unknown.
_UNKNOWN = [inf] * len(NODES)
_LOGS = [log(node) for node in NODES]
# Requests near a count before new ones there are compared with them.
_COMPARABLE = 4.0
# Elsewhere they are compared with what the counts that were seen make of theirs: the standard deviation of that in its
# logarithm next to them, and for a count that differs by a factor of e. Beyond the last factor, as a logarithm, it says
# nothing: all requests there would be off together, and soon look like a change.
_NEXT, _FAR, _BEYOND = 0.07, 0.3, 0.75
# Standard deviation of the logarithm of what so few requests as one tell of the curve at their count: those that came
# together had others' prompts to wait for in common. It falls with their number.
_SHAPE = 0.8
# Variance of the level's logarithm that each second of an answer adds: it tells the mean over its time, in which the
# level may have changed (by a factor of 1.7 once in half an hour: the variance of the time's mean about its end).
_AGO = 5e-5
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

    `doubts`: how far the curve may be off at each node, as a variance of its logarithm; infinite where nothing can be
    said. Like the curve, it is that of the last fit: requests that came since have made neither surer, and in a burst
    hundreds come in between.

    Where few requests were seen, others are compared with the curve that is made without those few: it is a guess, but
    the few may be off as the others are, where the level has just changed.
    """

    def __init__(self, sketch: Sketch, *, doubted: bool = True, guesses: bool = True) -> None:
        """Not `doubted`: guests are few by their nature, and come one by one.

        Without `guesses` nothing is said where few requests were seen.
        """
        self.sketch = sketch
        self._guessing = doubted and guesses
        self._doubted = doubted
        self.paces: list[float] = []
        self.doubts = _UNKNOWN
        self._seen = [False] * len(NODES)
        self._guessed: list[float] = []

    def fit(self, noise: float) -> None:
        """Take what has come in into account. `noise`: variance of one observation's logarithm."""
        points = self.sketch.points()
        self.paces = fit(points, noise) if points else []
        near = self.sketch.near()
        self._seen = [requests >= _COMPARABLE for requests in near]
        sure = [point for point in points if point.requests >= _COMPARABLE]
        self._guessed = self.paces if len(sure) == len(points) else fit(sure, noise) if self._guessing and sure else []
        self.doubts = self._doubt(near)

    def compare(self, inflight: float, tokens: float, seconds: float) -> tuple[float, float, bool]:
        """How fast that was against the curve, as a logarithm; how far that may be off from the level at its end, as a
        variance, infinite where nothing can be said; whether the curve there is a guess.
        """
        node = nearest(inflight)
        doubt = self.doubts[node]
        if doubt == inf:
            return 0.0, inf, True
        seen = self._seen[node]
        paces = self.paces if seen else self._guessed
        at = bisect_left(NODES, inflight)
        if at == 0:
            pace = paces[0]
        elif at == len(NODES):
            pace = paces[-1]
        else:
            low, below = NODES[at - 1], paces[at - 1]
            pace = below + (inflight - low) / (NODES[at] - low) * (paces[at] - below)
        return log(tokens * pace / seconds), doubt + _AGO * seconds, not seen

    def forget(self) -> None:
        """Begin anew."""
        self.sketch.forget()
        self.paces, self.doubts = [], _UNKNOWN
        self._seen, self._guessed = [False] * len(NODES), []

    def _doubt(self, near: Sequence[float]) -> list[float]:
        known = [where for where, seen in zip(_LOGS, self._seen, strict=True) if seen and self._guessing]
        return [
            ((_SHAPE / requests) ** 2 if self._doubted else 0.0) if seen else _guess(where, known)
            for where, seen, requests in zip(_LOGS, self._seen, near, strict=True)
        ]


def _guess(where: float, known: Sequence[float]) -> float:
    off = min((abs(where - other) for other in known), default=inf)
    return _NEXT**2 + (_FAR * off) ** 2 if off < _BEYOND else inf
