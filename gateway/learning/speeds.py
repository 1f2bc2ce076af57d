"""A pool's speed, from that of its requests: the curve's shape, and the level that the pool is at now."""

from collections.abc import Sequence
from math import exp, inf

from gateway.learning.evidence import Evidence, Speed
from gateway.learning.level import CUT, Level
from gateway.learning.sketch import Sketch

# Tokens of an answer from which on its speed is as sure as a longer one's: stalls weigh the less, the longer it takes.
_LONG = 100.0


class Speeds:
    """`shape`: of observations divided by the level; `guests`: of single requests beside the other pool's load."""

    def __init__(self, half_life: float) -> None:
        """`half_life` is in seconds."""
        self.shape = Evidence(Sketch(half_life))
        self.guests = Evidence(Sketch(half_life, young=False), doubted=False)
        self.level = Level()

    def learn(self, speeds: Sequence[Speed], *, told: bool = False) -> None:
        """First the level, from all together, then the shape, from each. `told`: by another gateway."""
        if len(speeds) == 1:
            # As most where few are served: there is no mean to be made.
            speed = speeds[0]
            at, inflight, tokens, seconds, guest, requests, own = speed
            ratio, doubt = (self.guests if guest else self.shape).compare(inflight, tokens, seconds)
            if doubt < inf:
                alone = requests <= 1.0 and not own
                self.level.observe(at, ratio, _sure(tokens, requests), doubt + own, answers=alone)
            self._form(speed, ratio, doubt, told)
            return
        compared = self._compare(speeds)
        for speed, (ratio, doubt) in zip(speeds, compared, strict=True):
            self._form(speed, ratio, doubt, told)

    def fit(self) -> None:
        """Take what has come in into account."""
        self.shape.fit(self.level.noise)
        self.guests.fit(self.level.noise)

    def forget(self) -> None:
        """Begin anew."""
        self.shape.forget()
        self.guests.forget()
        self.level = Level()

    def _compare(self, speeds: Sequence[Speed]) -> list[tuple[float, float]]:
        """How fast each was against the curve, and its doubt; the level follows."""
        compared: list[tuple[float, float]] = []
        weight = first = second = doubts = 0.0
        answers = 0
        for _, inflight, tokens, seconds, guest, requests, own in speeds:
            one = ratio, doubt = (self.guests if guest else self.shape).compare(inflight, tokens, seconds)
            compared.append(one)
            if doubt < inf:
                part = _sure(tokens, requests)
                weight += part
                first += part * ratio
                second += part * ratio * ratio
                doubts += part * (doubt + own)
                answers += requests <= 1.0 and not own
        if weight:
            mean = first / weight
            among = max(second / weight - mean * mean, 0.0)
            self.level.observe(speeds[-1].at, mean, weight, doubts / weight, answers=answers, among=among)
        return compared

    def _form(self, speed: Speed, ratio: float, doubt: float, told: bool) -> None:
        at, inflight, tokens, seconds, guest, requests, _ = speed
        level = self.level
        off = ratio - level.value if doubt < inf else 0.0
        if off > CUT or off < -CUT:
            # What the level does not take for this fast or slow, the shape does not either, nor for much.
            tokens *= exp(min(CUT - off, 0.0))
            seconds *= exp(min(CUT + off, 0.0))
            part = min(_LONG / tokens, 1.0)
            tokens, seconds, requests = part * tokens, part * seconds, min(requests, 1.0)
        sketch = (self.guests if guest else self.shape).sketch
        sketch.add(at, inflight, tokens / level.steady, seconds, requests, told=told)


def _sure(tokens: float, requests: float) -> float:
    """As how many requests they tell of the level."""
    return requests if tokens >= _LONG else requests * (tokens / _LONG)
