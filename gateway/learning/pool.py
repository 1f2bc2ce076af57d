"""One pool: its observations in, its curve out."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from gateway.learning.fit import fit
from gateway.learning.level import Level
from gateway.learning.observation import Observation
from gateway.learning.own import Own
from gateway.learning.report import PoolReport
from gateway.learning.sketch import Point, Sketch
from gateway.learning.ttft import FirstToken
from gateway.routing import NEVER, NODES, UNKNOWN, Curve, gains

# An answer shorter than this says nothing of a rate.
_LEAST_TOKENS, _LEAST_SECONDS = 8, 0.02
# Tokens of an answer from which on its speed is as sure as a longer one's: stalls weigh the less, the longer it takes.
_LONG = 100.0
# Requests near a count before a new one there is compared with them; requests as many as which a prior's point counts.
_COMPARABLE, _PRIOR = 4.0, 2.0
# On shared hardware, an answer is the whole load's where no more than this part of it was in the other pool.
_WHOLE = 0.25
_OUTPUT_MEMORY = 0.05
# Less of a request than this is what rounding leaves of none.
_NONE = 0.01
_NEIGHBOURS = 1.3


class PoolLearning:
    """What is known of one pool's speed. `curve` is the last fit; `refresh` makes it anew.

    `own`: where what is observed is kept apart from what others have told.
    """

    def __init__(self, half_life: float, weight: float, *, shared: bool) -> None:
        """See LearningSettings."""
        self._weight = weight
        self._shared = shared
        # The shape, for observations divided by the level; `_guests`: of single requests beside the other pool's load.
        self._shape, self._guests = Sketch(half_life), Sketch(half_life)
        self._first = FirstToken(half_life)
        self.level = Level()
        self._paces: list[float] = []
        self._guest_paces: list[float] = []
        self._requests = self._output = self._told = 0.0
        self.own: Own | None = None
        self._newest = NEVER
        self._stale = False
        self.curve: Curve = UNKNOWN

    def observe(self, seen: Observation) -> None:
        """Take in a request that has ended."""
        own = self.own
        if own is not None:
            own.observe(seen)
        if seen.ttft is not None:
            self._first.add(seen.at, seen.waiting, seen.ttft)
        if seen.finished and seen.tokens:
            self._output += (seen.tokens - self._output) * (_OUTPUT_MEMORY if self._output else 1.0)
        tokens, seconds = float(seen.tokens), seen.seconds
        if seen.ttft is not None:
            # What came with the first byte was not generated after it.
            tokens -= tokens / seen.events if seen.events else 1.0
        else:
            seconds -= self.curve.first + self.curve.prefill * seen.waiting
        if tokens < _LEAST_TOKENS or seconds < _LEAST_SECONDS:
            return
        beside = seen.beside if self._shared else 0.0
        count = max(seen.inflight, 1.0) + beside
        guest = beside > _WHOLE * count
        if guest:
            self._learn(self._guests, self._guest_paces, seen.at, count, tokens, seconds)
        else:
            self._learn(self._shape, self._paces, seen.at, count, tokens, seconds)
            self._requests += 1.0
        self._newest = max(self._newest, seen.at)
        self._stale = True
        if own is not None:
            own.learn(seen.at, count, tokens / self.level.factor, seconds, guest=guest)

    def take(self, told: PoolReport, before: PoolReport, share: float, at: float) -> None:
        """Take in what another gateway has seen between two reports, of which the last was made at `at`.

        `share`: what is left of its weight since. What it told of its own level is now's, for all that it has seen.
        """
        for sketch, paces, now, then in (
            (self._shape, self._paces, told.shape, before.shape),
            (self._guests, self._guest_paces, told.guests, before.guests),
        ):
            for _, requests, tokens, seconds, moment in now.since(then):
                weight = share * requests
                if weight > _NONE and tokens and seconds:
                    each = told.level * tokens / requests, seconds / requests
                    self._learn(sketch, paces, at, moment / seconds, *each, requests=weight)
                    self._stale = True
        first = told.first.since(before.first)
        if share * first[0] > _NONE:
            self._first.merge([share * total for total in first])
        ended = told.ended - before.ended
        if ended >= 1.0:
            memory = 1.0 - (1.0 - _OUTPUT_MEMORY) ** (share * ended) if self._output else 1.0
            self._output += memory * ((told.tokens - before.tokens) / ended - self._output)
        self._requests += told.seen - before.seen
        self._told += told.seen - before.seen
        if told.idle is not None:
            self._newest = max(self._newest, at - told.idle)
        if not self._paces:
            # The next to tell is compared with this.
            self.refresh()

    @property
    def told(self) -> float:
        """Of all requests that were learned from, those that others have told of."""
        return self._told

    @property
    def observed(self) -> float:
        """The others."""
        return self._requests - self._told

    def refresh(self) -> None:
        """Make the curve of what has come in."""
        if self._stale:
            self._stale = False
            self._paces = self._fit(self._shape)
            self._guest_paces = self._fit(self._guests)
            self.curve = self._made_curve()

    def prior(self, points: Sequence[tuple[float, float]], at: float) -> None:
        """Take these (in-flight on a replica, tokens per second of one request) for observed then."""
        for count, rate in points:
            self._shape.add(at, count, 100.0, 100.0 / rate, _PRIOR)
            self._requests += _PRIOR
        self._newest, self._stale = at, True
        self.level.doubt()

    def dump(self) -> dict[str, Any]:
        """What was learned, as JSON-able values; `age` of the newest observation against `now` is the caller's."""
        return {
            "shape": self._shape.dump(),
            "guests": self._guests.dump(),
            "first": self._first.dump(),
            "level": self.level.value,
            "requests": self._requests,
            "output": self._output,
            "newest": self._newest if self._newest > NEVER else None,
        }

    def load(self, dumped: Mapping[str, Any]) -> None:
        """Take over what another has dumped, whose clock is the same."""
        self._shape.merge(dumped["shape"])
        self._guests.merge(dumped["guests"])
        self._first.merge(dumped["first"])
        self.level.start(dumped["level"])
        self._requests, self._output = dumped["requests"], dumped["output"]
        self._newest = NEVER if dumped["newest"] is None else dumped["newest"]
        self._stale = True

    def _learn(
        self,
        sketch: Sketch,
        paces: Sequence[float],
        at: float,
        count: float,
        tokens: float,
        seconds: float,
        requests: float = 1.0,
    ) -> None:
        """Tokens and seconds are those of one of so many `requests`."""
        if paces and sketch.near(count) >= _COMPARABLE:
            weight = requests * min(tokens / _LONG, 1.0)
            self.level.observe(at, log(tokens * pace_at(paces, count) / seconds), weight)
        sketch.add(at, count, tokens / self.level.factor, seconds, requests)

    def _fit(self, sketch: Sketch) -> list[float]:
        points = sketch.points()
        return fit(points) if points else []

    def _made_curve(self) -> Curve:
        first, prefill = self._first.line()
        if not self._paces:
            return UNKNOWN._replace(newest=self._newest, first=first, prefill=prefill, output=self._output)
        factor = self.level.factor
        rates = tuple(factor / pace for pace in self._paces)
        return Curve(
            rates,
            gains(rates, self._weight),
            _near(self._shape.points()),
            self._requests,
            self._newest,
            self.level.spread,
            first,
            prefill,
            self._output,
        )


def pace_at(paces: Sequence[float], count: float) -> float:
    """Seconds per token at any in-flight count."""
    at = bisect_left(NODES, count)
    if at == 0:
        return paces[0]
    if at == len(NODES):
        return paces[-1]
    part = (count - NODES[at - 1]) / (NODES[at] - NODES[at - 1])
    return paces[at - 1] + part * (paces[at] - paces[at - 1])


def _near(points: Sequence[Point]) -> tuple[float, ...]:
    """Requests observed near each node."""
    return tuple(
        sum(requests for count, _, requests in points if node / _NEIGHBOURS <= count <= node * _NEIGHBOURS)
        for node in NODES
    )
