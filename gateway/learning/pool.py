"""One pool: its observations in, its curve out."""

import logging
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

from gateway.learning.evidence import TOGETHER, Speed
from gateway.learning.level import Level
from gateway.learning.observation import Observation
from gateway.learning.own import Own
from gateway.learning.report import PoolReport
from gateway.learning.sketch import around, highest
from gateway.learning.speeds import Speeds
from gateway.learning.ttft import FirstToken
from gateway.routing import NEVER, UNKNOWN, Curve, gains

_log = logging.getLogger("spillway")
# An answer shorter than this says nothing of a rate.
_LEAST_TOKENS, _LEAST_SECONDS = 8, 0.02
# Tokens in a stream's first event, at most: what one step of an engine makes. Where tokens are held back to send fewer
# events (`--stream-interval`), the first one is not: SGLang 0.5.17 sends where their number modulo the interval is 1
# (output_streamer.py), which steps of several tokens may miss until the end. An even share would be half of the answer.
_FIRST_EVENT = 4.0
# Requests as many as which a prior's point counts.
_PRIOR = 2.0
# On shared hardware, an answer is the whole load's where no more than this part of it was in the other pool.
_WHOLE = 0.25
# Of an answer beside which the other pool was never without a request: how much less it counts, and how sure its speed
# is, as a logarithm. Two engines that take turns leave each half of the hardware, however few requests one of them has.
_SPOILT, _HALVED = 0.8, 0.7
# How much of the mean length of an answer the next one leaves and how much of that it brings, and of how many times the
# mean it is taken for at most.
_KEPT, _ONE, _OUTPUT_CUT = 0.95, 1.0 - 0.95, 10.0
# As so many requests at a count the news from one gateway weighs at most: who tells of more knows no better, or lies.
# Their seconds, seconds per token and tokens: no engine is beyond.
_MOST_TOLD, _LONGEST_TOLD, _FASTEST_TOLD, _SLOWEST_TOLD, _MOST_OUTPUT = 1000.0, 600.0, 1e-5, 10.0, 1e8
# Less of a request than this is what rounding leaves of none.
_NONE = 0.01


class PoolLearning:
    """What is known of one pool's speed. `curve` is the last fit; `refresh` makes it anew.

    `speeds`: of its requests, but for those that have just ended together; `first`: of its time to first token.
    """

    def __init__(self, half_life: float, weight: float, *, shared: bool) -> None:
        """See LearningSettings."""
        self._weight = weight
        self._shared = shared
        self._failed = False
        self.speeds = Speeds(half_life, shared=shared)
        self.first = FirstToken(half_life)
        # Those that ended together: what held one up held up the others, and as one they are learned from.
        self._pending: list[Speed] = []
        self._own = self._begun()
        # Beside its own: requests that others told of and those from before, and when the newest of them was.
        self._told = self._earlier = 0.0
        self._newest = NEVER
        self._output = 0.0
        self._stale = False
        self.curve: Curve = UNKNOWN

    def observe(self, seen: Observation) -> None:
        """Take in a request that has ended."""
        at, tokens, seconds, inflight, events, _, ttft, waiting, beside, finished = seen
        own = self._own
        own.observed += 1
        count = max(inflight, 1.0)
        if self._shared:
            count += beside
        guest = self._shared and beside > _WHOLE * count
        if ttft is not None and not guest:
            # A guest has waited for the other pool's prompts, which are not in `waiting`.
            self.first.add(at, waiting, ttft)
        if finished and tokens:
            own.ended += 1.0
            own.tokens += tokens
            self._lengthen(tokens, 1.0)
        if ttft is not None:
            # What came with the first byte was not generated after it.
            generated = tokens - (min(tokens / events, _FIRST_EVENT) if events else 1.0)
        else:
            generated = float(tokens)
            seconds -= self.curve.first + self.curve.prefill * waiting
        if generated < _LEAST_TOKENS or seconds < _LEAST_SECONDS:
            return
        pending = self._pending
        if pending and not 0.0 <= at - pending[0].at <= TOGETHER:
            self._settle()
            pending = self._pending
        if guest or not self._shared:
            pending.append(Speed(at, count, generated, seconds, guest))
        else:
            mixed = min(beside, 1.0)
            pending.append(Speed(at, count, generated, seconds, guest, 1.0 - _SPOILT * mixed, (_HALVED * mixed) ** 2))

    @property
    def level(self) -> Level:
        """With all that was observed taken in."""
        self._settle()
        return self.speeds.level

    def take(self, told: PoolReport, before: PoolReport, share: float, at: float) -> None:
        """Take in what another gateway has seen between two reports, of which the last was made at `at`.

        `share`: what is left of its weight since. What it told of its own level is now's, for all that it has seen.
        """
        self._settle()
        for guest, now, then in ((False, told.shape, before.shape), (True, told.guests, before.guests)):
            for _, requests, tokens, seconds, moment in now.since(then):
                weight = min(share * requests, _MOST_TOLD)
                # Nor does one answer tell more than a long one.
                part = min(1.0 / requests, _LONGEST_TOLD / seconds)
                if weight > _NONE and _FASTEST_TOLD <= seconds / (told.level * tokens) <= _SLOWEST_TOLD:
                    each = told.level * tokens * part, seconds * part
                    self.speeds.learn([Speed(at, moment / seconds, *each, guest, weight)], told=True)
                    self._stale = True
        first = told.first.since(before.first)
        if share * first[0] > _NONE:
            left = min(share, _MOST_TOLD / first[0])
            self.first.merge([left * total for total in first])
        ended, tokens = told.ended - before.ended, told.tokens - before.tokens
        if ended >= 1.0 and tokens > 0.0:
            self._lengthen(min(tokens / ended, _MOST_OUTPUT), share * ended)
        self._told += max(told.seen - before.seen, 0.0)
        if told.idle is not None:
            self._newest = max(self._newest, at - told.idle)
        if not self.speeds.shape.paces:
            # The next to tell is compared with this.
            self.refresh()

    @property
    def told(self) -> float:
        """Of all requests that were learned from, those that others have told of."""
        return self._told

    @property
    def observed(self) -> float:
        """The others."""
        self._settle()
        return self._own.seen + self._earlier

    def start_telling(self) -> Own:
        """What was observed until now is told to nobody; what is from now on is in what this returns, too."""
        self._settle()
        own, self._own = self._own, self._begun()
        self._earlier += own.seen
        self._newest = max(self._newest, own.newest)
        return self._own

    def refresh(self) -> None:
        """Make the curve of what has come in. What no curve can be made of is forgotten, and the last one stays."""
        self._settle()
        stale, self._stale = self._stale, False
        try:
            if stale:
                self.speeds.fit()
                made = self._made_curve()
            else:
                # What the other pool shows of prompts bears on this one's too.
                first, prefill = self.first.line()
                made = self.curve._replace(first=first, prefill=prefill)
            if not _sound(made, self.speeds.guests.paces):
                raise ArithmeticError("a curve of speeds that are none")
        except (ArithmeticError, ValueError):
            self._forget()
        else:
            self.curve = made

    def prior(self, points: Sequence[tuple[float, float]], at: float) -> None:
        """Take these (in-flight on a replica, tokens per second of one request) for observed then."""
        for count, rate in points:
            self.speeds.shape.sketch.add(at, count, 100.0, 100.0 / rate, _PRIOR, told=True)
            self._earlier += _PRIOR
        self._newest, self._stale = at, True
        self.speeds.level.doubt()

    def dump(self) -> dict[str, Any]:
        """What was learned, as JSON-able values; `age` of the newest observation against `now` is the caller's."""
        self._settle()
        newest = self._latest()
        return {
            "shape": self.speeds.shape.sketch.dump(),
            "guests": self.speeds.guests.sketch.dump(),
            "first": self.first.dump(),
            "level": self.speeds.level.value,
            "requests": self.told + self.observed,
            "output": self._output,
            "newest": newest if newest > NEVER else None,
        }

    def load(self, dumped: Mapping[str, Any]) -> None:
        """Take over what another has dumped, whose clock is the same."""
        self.speeds.shape.sketch.merge(dumped["shape"])
        self.speeds.guests.sketch.merge(dumped["guests"])
        self.first.merge(dumped["first"])
        self.speeds.level.start(dumped["level"])
        self._earlier, self._output = dumped["requests"], dumped["output"]
        self._newest = NEVER if dumped["newest"] is None else dumped["newest"]
        self._stale = True

    def _forget(self) -> None:
        """No request is to fail for what was learned, whatever it was."""
        if not self._failed:
            self._failed = True
            _log.exception("adaptive: no curve can be made of what was learned of a pool, which is forgotten")
        self.speeds.forget()
        self.first.forget()
        self._output = 0.0

    def _begun(self) -> Own:
        return Own(self.speeds.shape.sketch, self.speeds.guests.sketch, self.first)

    def _latest(self) -> float:
        return max(self._newest, self._own.newest)

    def _lengthen(self, tokens: float, requests: float) -> None:
        """So many have ended, with so many tokens each."""
        if not self._output:
            self._output = tokens
        else:
            memory = _ONE if requests == 1.0 else 1.0 - _KEPT**requests
            most = _OUTPUT_CUT * self._output
            if tokens > most:
                tokens = most
            self._output += memory * (tokens - self._output)

    def _settle(self) -> None:
        """Learn from those that ended together."""
        pending = self._pending
        if not pending:
            return
        self._pending = []
        self.speeds.learn(pending)
        own = self._own
        own.seen += len(pending) - (sum(speed.guest for speed in pending) if self._shared else 0)
        if pending[-1].at > own.newest:
            own.newest = pending[-1].at
        self._stale = True

    def _made_curve(self) -> Curve:
        first, prefill = self.first.line()
        if not self.speeds.shape.paces:
            return UNKNOWN._replace(newest=self._latest(), first=first, prefill=prefill, output=self._output)
        factor = self.speeds.level.factor
        rates = tuple(factor / pace for pace in self.speeds.shape.paces)
        points = self.speeds.shape.sketch.points()
        return Curve(
            rates,
            gains(rates, self._weight),
            around(points),
            self.told + self.observed,
            self._latest(),
            self.speeds.level.spread,
            first,
            prefill,
            self._output,
            highest(points),
        )


def _sound(curve: Curve, paces: Sequence[float]) -> bool:
    """Whether there is a speed at every count, and all else is a number."""
    others = (*curve.gains, curve.requests, curve.spread, curve.first, curve.prefill, curve.output)
    speeds = (*paces, *(() if curve.rates == UNKNOWN.rates else curve.rates))
    return all(0.0 < speed < inf for speed in speeds) and all(isfinite(other) for other in others)
