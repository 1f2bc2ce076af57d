"""Time to first token, by the prompt tokens that a replica has yet to read."""

from collections.abc import Sequence
from math import isfinite

from gateway.learning.sketch import FORGOTTEN, LARGE

# Seconds within which observations weigh the same.
_STEP = 0.5
# A time is far off beyond this factor of what was expected and so many seconds; requests before anything is expected.
# Two far off in a row, on the same side, leave a quarter of what was before them, a third one a sixteenth of that, and
# so on: after several what was before says nothing.
_FAR, _SLACK, _ENOUGH = 4.0, 0.05, 1.0
# Within this factor of what was expected a while ago, it is not far off.
_LIKE = 2.0
# As how many requests, as far from the mean prompt as that is from none, the other pool's slope weighs, and no slope at
# all. By one such request, where times scatter by a third, a slope is off by a third of the greatest that there may be.
_OTHER, _FLAT = 1.0, 0.25


class FirstToken:
    """A straight line by least squares: seconds = `first` + `prefill` x waiting prompt tokens. Old observations fade.

    A prompt is read at a speed of tokens per second, after those before it; both coefficients are kept from falling
    below zero, as a line through noise may. One time that is far off counts as one at the bound of what is not: a
    single request may have been held up by anything. Where the next is off to the same side, the old ones are wrong.

    The line goes through the mean of what was observed. Its slope is drawn towards one that is assumed (see `share`),
    as by a request more: prompts that differ little, or were few, do not tell what they take of the time.

    What was observed here is kept apart from what was told, so that it can be told to others; both count alike.
    """

    def __init__(self, half_life: float) -> None:
        """`half_life` is in seconds. `aged`: how often what was added first has been halved since."""
        self.aged = 0.0
        self._half_life = half_life
        self._assumed = (0.0, 0.0)
        self._begin()

    def _begin(self) -> None:
        self._at: float | None = None
        # Those far off in a row, below zero if they came too soon.
        self._run = 0
        # It grows in place of all sums shrinking.
        self._weight = 1.0
        # Requests, waiting, seconds, waiting x waiting, waiting x seconds: what was observed here, and what was told.
        self._own, self._told = [0.0] * 5, [0.0] * 5
        # The line of a while ago: to see that a time is nothing odd, it need not be computed for each.
        self._usual = (0.0, 0.0)

    def add(self, at: float, waiting: float, seconds: float) -> None:
        """Take in one time to first token."""
        if self._at is None:
            self._at = at
        elif (passed := at - self._at) > _STEP:
            self._halve(0.25 if passed >= 0.25 * self._half_life else passed / self._half_life)
            self._at = at
        first, prefill = self._usual
        expected = first + prefill * waiting
        if _LIKE * seconds >= expected >= seconds / _LIKE:
            self._run = 0
        elif self._own[0] + self._told[0] >= _ENOUGH * self._weight:
            seconds = self._believable(waiting, seconds)
        sums, weight = self._own, self._weight
        tokens = weight * waiting
        sums[0] += weight
        sums[1] += tokens
        sums[2] += weight * seconds
        sums[3] += tokens * waiting
        sums[4] += tokens * seconds

    def line(self) -> tuple[float, float]:
        """`first` and `prefill`; those assumed before the first observation."""
        count, across, up, *_ = sums = self.dump()
        if not count:
            return self._assumed
        _, slope = self._assumed
        if weight := _OTHER * _square(count, across):
            spread, joint = _about_mean(sums)
            slope = max((joint + weight * slope) / (spread + weight), 0.0)
        first = (up - slope * across) / count
        return (first, slope) if first >= 0 else (0.0, up / across)

    def assume(self, first: float, prefill: float) -> None:
        """What to go by where nothing was observed that tells."""
        self._assumed = first, prefill
        self._usual = self.line()

    def dump(self) -> list[float]:
        """The sums."""
        return _scaled(_sum(self._own, self._told), 1.0 / self._weight)

    def own(self) -> list[float]:
        """As `dump`, of what was observed here since `start_telling`."""
        return _scaled(self._own, 1.0 / self._weight)

    def start_telling(self) -> None:
        """What there is until now is not `own`."""
        self._told, self._own = _sum(self._own, self._told), [0.0] * 5

    def merge(self, sums: Sequence[float]) -> None:
        """Add what another has dumped."""
        self._told = _sum(self._told, _scaled(sums, self._weight))

    def forget(self) -> None:
        """Begin anew. For `aged`, what there was has faded."""
        self._begin()
        self.aged += FORGOTTEN

    def _believable(self, waiting: float, seconds: float) -> float:
        first, prefill = self._usual = self.line()
        expected = first + prefill * waiting
        most, least = _FAR * expected + _SLACK, (expected - _SLACK) / _FAR
        side = (seconds > most) - (seconds < least)
        self._run = self._run + side if side * self._run > 0 else side
        if (more := abs(self._run) - 1) > 0:
            self._halve(min(2.0 * more, FORGOTTEN))
        return min(max(seconds, least), most)

    def _halve(self, times: float) -> None:
        self.aged += times
        self._weight *= 2.0**times
        if self._weight > LARGE:
            self._own, self._told = self.own(), _scaled(self._told, 1.0 / self._weight)
            self._weight = 1.0


def share(one: FirstToken, two: FirstToken) -> None:
    """Two pools read prompts with one model: each assumes the slope that both show together, itself drawn towards none.

    A pool that is not used thus keeps its distance from the other when prompts get longer or shorter, which only the
    other sees. By how much one is slower at prompts of one length is not for the slope to say, so it is that within
    pools. One that has observed nothing assumes the other's line.
    """
    count, across, *_ = _sum(one.dump(), two.dump())
    spread, joint = _sum(_about_mean(one.dump()), _about_mean(two.dump()))
    spread += _FLAT * _square(count, across)
    slope = max(joint / spread, 0.0) if spread else 0.0
    for first in (one, two):
        # What is no number is for its own pool to forget.
        first.assume(0.0, slope if isfinite(slope) else 0.0)
    for first, other in ((one, two), (two, one)):
        if not first.dump()[0] and all(isfinite(part) for part in other.line()):
            first.assume(*other.line())


def _square(count: float, across: float) -> float:
    """Of the mean prompt."""
    mean = across / count if count else 0.0
    return mean * mean


def _about_mean(sums: Sequence[float]) -> list[float]:
    """Of waiting x waiting and of waiting x seconds, about the mean."""
    count, across, up, square, product = sums
    return [max(square - across * across / count, 0.0), product - across * up / count] if count else [0.0, 0.0]


def _scaled(sums: Sequence[float], by: float) -> list[float]:
    return [by * value for value in sums]


def _sum(own: Sequence[float], told: Sequence[float]) -> list[float]:
    return [mine + theirs for mine, theirs in zip(own, told, strict=True)]
