"""A pool's speed, from that of its requests: the curve's shape, and the level that the pool is at now."""

from collections.abc import Sequence
from math import exp, inf, sqrt

from gateway.learning.evidence import Evidence, Speed
from gateway.learning.level import CUT, Level
from gateway.learning.sketch import Sketch

# Tokens of an answer from which on its speed is as sure as a longer one's: stalls weigh the less, the longer it takes.
_LONG = 100.0
# A speed whose logarithm is off by more than this variance by itself is not told to other gateways.
_DOUBTFUL = 0.1


class Speeds:
    """`shape`: of observations divided by the level; `guests`: of single requests beside the other pool's load."""

    def __init__(self, half_life: float, *, shared: bool = False) -> None:
        """`half_life` is in seconds. `shared`: both pools are on the same hardware.

        There the load goes as a whole, and comes to counts not seen when it is another by far, not because the division
        has moved on: what the others say of those is no good guess.
        """
        self.shape = Evidence(Sketch(half_life), guesses=not shared)
        self.guests = Evidence(Sketch(half_life, young=False), doubted=False)
        self.level = Level()
        self._guesses = 0

    def learn(self, speeds: Sequence[Speed], *, told: bool = False) -> None:
        """First the level, from all together, then the shape, from each. `told`: by another gateway."""
        if len(speeds) == 1:
            # As most where few are served: there is no mean to be made.
            speed = speeds[0]
            at, inflight, tokens, seconds, guest, requests, own = speed
            ratio, doubt, guess = (self.guests if guest else self.shape).compare(inflight, tokens, seconds)
            if doubt < inf:
                off = doubt * self._again() if guess else doubt
                alone = requests <= 1.0 and not own
                self.level.observe(at, ratio, _sure(tokens, requests), off + own, answers=alone, guess=guess)
            self._form(speed, ratio, doubt, told)
            return
        compared = self._compare(speeds)
        for speed, (ratio, doubt, _) in zip(speeds, compared, strict=True):
            self._form(speed, ratio, doubt, told)

    def fit(self) -> None:
        """Take what has come in into account."""
        self.shape.fit(self.level.noise)
        self.guests.fit(self.level.noise)
        self._guesses = 0

    def forget(self) -> None:
        """Begin anew."""
        self.shape.forget()
        self.guests.forget()
        self.level = Level()
        self._guesses = 0

    def _again(self) -> float:
        """By how much the doubt is more: what is guessed until the next fit is off together, however often."""
        self._guesses += 1
        return float(self._guesses * self._guesses)

    def _compare(self, speeds: Sequence[Speed]) -> list[tuple[float, float, bool]]:
        """How fast each was against the curve, its doubt, and whether that is a guess; the level follows."""
        compared = [
            (self.guests if speed.guest else self.shape).compare(speed.inflight, speed.tokens, speed.seconds)
            for speed in speeds
        ]
        # By those that are none, if there are any.
        guess = all(guessed for _, _, guessed in compared)
        weight = first = second = doubts = 0.0
        answers = 0
        for (_, _, tokens, _, _, requests, own), (ratio, doubt, guessed) in zip(speeds, compared, strict=True):
            if doubt < inf and guessed == guess:
                part = _sure(tokens, requests)
                weight += part
                first += part * ratio
                second += part * ratio * ratio
                doubts += part * (doubt + own)
                answers += requests <= 1.0 and not own
        if weight:
            mean = first / weight
            among = max(second / weight - mean * mean, 0.0)
            doubt = doubts / weight * (self._again() if guess else 1.0)
            self.level.observe(speeds[-1].at, mean, weight, doubt, answers=answers, among=among, guess=guess)
        return compared

    def _form(self, speed: Speed, ratio: float, doubt: float, told: bool) -> None:
        at, inflight, tokens, seconds, guest, requests, own = speed
        level = self.level
        off = ratio - level.value if doubt < inf else 0.0
        if (off > CUT or off < -CUT) and abs(off) > (cut := CUT + 2.0 * sqrt(doubt)):
            # What the level does not take for this fast or slow, the shape does not either, nor for much.
            tokens *= exp(min(cut - off, 0.0))
            seconds *= exp(min(cut + off, 0.0))
            part = min(_LONG / tokens, 1.0)
            tokens, seconds, requests = part * tokens, part * seconds, min(requests, 1.0)
        sketch = (self.guests if guest else self.shape).sketch
        # Others, who are told sums, could not doubt it.
        sketch.add(at, inflight, tokens / level.steady, seconds, requests, told=told or own > _DOUBTFUL)


def _sure(tokens: float, requests: float) -> float:
    """As how many requests they tell of the level."""
    return requests if tokens >= _LONG else requests * (tokens / _LONG)
