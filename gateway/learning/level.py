"""How fast a pool is now, against its curve: one factor for all in-flight counts, followed quickly.

A change in acceptance, a throttled GPU, another engine behind the same address: each changes the speed at all counts by
nearly the same factor (tokens per second are tokens per step over seconds per step, and acceptance is the first of the
two). So the factor is tracked by itself, from a few requests, while the curve's shape is learned slowly.
"""

from math import exp, log, sqrt

# Variance of the factor's logarithm that a second adds: while the pool is observed, and beyond the first few seconds
# since it last was, when anything may have happened (20% in half a minute). Where that ends: 40%.
_DRIFT, _UNSEEN, _SEEN_SECONDS, _WIDEST = 1.0e-5, 1.6e-3, 5.0, 0.16
# Two observations in a row so many standard deviations off, in the same direction, are a jump. One alone may be a burst
# of prompts, or what an engine was held up by.
_JUMP = 2.5
# So are many that are a little off, which two in a row never are where answers differ: a cumulative sum of what each is
# off beyond a part of a standard deviation, no single one for more than so many, that grows past a bound (Page 1954).
_SLACK, _SINGLE, _RUN = 0.75, 2.0, 5.0
# How much of the squared residual enters its mean, at which it starts, and its bounds. Residuals are cut at a factor
# of four and a half.
_MEMORY, _FIRST, _LEAST, CUT = 0.05, 0.01, 2.5e-3, 1.5
# What the factor may be: a curve that is further off is for the shape to mend.
SLOWEST, FASTEST = 1e-3, 1e3


class Level:
    """A Kalman filter of the factor's logarithm (a random walk observed with noise) that also accepts jumps.

    The longer nothing was observed, the more one observation counts; the noise is learned from the residuals.
    """

    def __init__(self) -> None:
        """At the curve, which is made of the same requests: what they say of the speed as such is in it."""
        self.value = 0.0
        self.factor = 1.0
        self.variance = 0.0
        self.noise = _FIRST
        self.scatter = _FIRST
        self._at: float | None = None
        self._side = 0
        # By side: the cumulative sum, and since it was zero the requests and the sum of their residuals.
        self._runs = {1: [0.0, 0.0, 0.0], -1: [0.0, 0.0, 0.0]}

    def start(self, value: float) -> None:
        """Begin at this logarithm of the factor."""
        self._set(value)

    def doubt(self) -> None:
        """The curve comes from elsewhere."""
        self.variance = _WIDEST

    @property
    def spread(self) -> float:
        """Standard deviation of observations about what was expected, jumps included."""
        return sqrt(self.scatter)

    def observe(self, at: float, log_ratio: float, requests: float = 1.0, doubt: float = 0.0) -> None:
        """A request ran at exp(`log_ratio`) times the curve's speed, or so many together in the mean.

        A part of one is a short answer, whose speed says less. `doubt`: variance of the curve's logarithm at that
        count. What differs by no more than that is for the curve to mend: a level that followed the first requests of
        a start would take all that was learned before along.
        """
        if self._at is not None:
            passed = max(at - self._at, 0.0)
            unseen = max(passed - _SEEN_SECONDS, 0.0)
            self.variance = min(self.variance + _DRIFT * (passed - unseen) + _UNSEEN * unseen, _WIDEST)
            at = max(at, self._at)
        self._at = at
        residual = min(max(log_ratio - self.value, -CUT), CUT)
        # Many together are as far off as the curve is at their count, however little the noise of their mean.
        noise = max(self.noise / requests, _LEAST) + doubt
        deviation = residual / sqrt(self.variance + noise)
        self.scatter += _MEMORY * (residual * residual - self.scatter)
        side = (deviation > _JUMP) - (deviation < -_JUMP)
        change = self._changed(deviation, residual)
        if side and side == self._side:
            self.variance += residual * residual
        elif change:
            self.variance += change * change
        elif requests <= 1.0:
            # One that is far off is no noise, yet.
            square = min(residual * residual * requests, _JUMP * _JUMP * (self.variance + self.noise))
            self.noise = max(self.noise + _MEMORY * (square - self.noise), _LEAST)
        self._side = side
        gain = self.variance / (self.variance + noise)
        self._set(self.value + gain * residual)
        self.variance *= 1.0 - gain

    def _changed(self, deviation: float, residual: float) -> float:
        """By how much they have been off in the mean, if that is a change; else 0."""
        cut = min(max(deviation, -_SINGLE), _SINGLE)
        for side, run in self._runs.items():
            run[0] = max(run[0] + side * cut - _SLACK, 0.0)
            if not run[0]:
                run[1] = run[2] = 0.0
                continue
            run[1] += 1.0
            run[2] += residual
            if run[0] > _RUN:
                change = run[2] / run[1]
                for each in self._runs.values():
                    each[:] = 0.0, 0.0, 0.0
                return change
        return 0.0

    def _set(self, value: float) -> None:
        self.factor = min(max(exp(value), SLOWEST), FASTEST)
        self.value = log(self.factor)
