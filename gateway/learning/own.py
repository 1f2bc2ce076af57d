"""What a gateway has seen of one pool itself, apart from what others told it: what it may tell them."""

from gateway.learning.observation import Observation
from gateway.learning.report import FirstTokens, PoolReport, Rows, plausible, plausible_first
from gateway.learning.sketch import Sketch
from gateway.learning.ttft import FirstToken


class Own:
    """Sums as those that are learned from; see `PoolReport`. `observed`: how many requests there were to tell of."""

    def __init__(self, half_life: float) -> None:
        """`half_life` is in seconds."""
        self.shape, self.guests = Sketch(half_life, slopes=False), Sketch(half_life, young=False, slopes=False)
        self.first = FirstToken(half_life)
        self.observed = 0
        self._ended = self._tokens = self._seen = 0.0
        self._newest: float | None = None

    def observe(self, seen: Observation, ttft: float | None) -> None:
        """What there is to a request beside its speed; `ttft` as it is believed."""
        self.observed += 1
        if ttft is not None:
            self.first.add(seen.at, seen.waiting, ttft, checked=True)
        if seen.finished and seen.tokens:
            self._ended += 1.0
            self._tokens += seen.tokens

    def learn(self, at: float, count: float, tokens: float, seconds: float, *, guest: bool) -> None:
        """Its speed; `tokens` as the sketches have them."""
        (self.guests if guest else self.shape).add(at, count, tokens, seconds)
        self._seen += not guest
        self._newest = at if self._newest is None else max(self._newest, at)

    def report(self, level: float, now: float) -> PoolReport:
        """As of now; `level` is the pool's."""
        sums = self.first.dump()
        a, b, c, d, e = sums if plausible_first(sums) else [0.0] * 5
        return PoolReport(
            shape=_rows(self.shape),
            guests=_rows(self.guests),
            first=FirstTokens(aged=self.first.aged, sums=(a, b, c, d, e)),
            ended=self._ended,
            tokens=self._tokens,
            seen=self._seen,
            level=level,
            idle=None if self._newest is None else max(now - self._newest, 0.0),
        )


def _rows(sketch: Sketch) -> Rows:
    """Without what a reader would refuse the whole report for."""
    rows = ((int(node), a, b, c, d) for node, a, b, c, d, _, _ in sketch.dump())
    return Rows(aged=sketch.aged, rows=tuple(row for row in rows if plausible(row)))
