"""What a gateway has seen of one pool itself, apart from what others told it: what it may tell them."""

from gateway.learning.report import FirstTokens, PoolReport, Rows, plausible, plausible_first
from gateway.learning.sketch import Sketch
from gateway.learning.ttft import FirstToken
from gateway.routing import NEVER


class Own:
    """Since this was made; see `PoolReport`. The sums are with those that are learned from, the counts are here.

    `observed`: how many requests there were to tell of. `newest`: when the last was that told a speed.
    """

    def __init__(self, shape: Sketch, guests: Sketch, first: FirstToken) -> None:
        """What these hold by now is not told."""
        for part in (shape, guests, first):
            part.start_telling()
        self._shape, self._guests, self._first = shape, guests, first
        self.observed = 0
        self.ended = self.tokens = self.seen = 0.0
        self.newest = NEVER

    def report(self, level: float, now: float) -> PoolReport:
        """As of now; `level` is the pool's."""
        sums = self._first.own()
        a, b, c, d, e = sums if plausible_first(sums) else [0.0] * 5
        return PoolReport(
            shape=_rows(self._shape),
            guests=_rows(self._guests),
            first=FirstTokens(aged=self._first.aged, sums=(a, b, c, d, e)),
            ended=self.ended,
            tokens=self.tokens,
            seen=self.seen,
            level=level,
            idle=None if self.newest == NEVER else max(now - self.newest, 0.0),
        )


def _rows(sketch: Sketch) -> Rows:
    """Without what a reader would refuse the whole report for."""
    rows = ((int(node), a, b, c, d) for node, a, b, c, d, _, _ in sketch.own())
    return Rows(aged=sketch.aged, rows=tuple(row for row in rows if plausible(row)))
