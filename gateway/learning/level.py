"""How fast a pool is now, against its curve: one factor for all in-flight counts, followed quickly.

A change in acceptance, a throttled GPU, another engine behind the same address: each changes the speed at all counts by
nearly the same factor (tokens per second are tokens per step over seconds per step, and acceptance is the first of the
two). So the factor is tracked by itself, from a few requests, while the curve's shape is learned slowly.
"""

from math import exp, log, sqrt

# Variance of the factor's logarithm that a second adds: while the pool is observed, and beyond the first few seconds
# since it last was, when anything may have happened (20% in half a minute). Where that ends: 40%.
_DRIFT, _UNSEEN, _SEEN_SECONDS, _WIDEST = 1.0e-5, 1.6e-3, 5.0, 0.16
# The first of these for the level that the shape goes by. How steep a curve is shows while a pool holds a few requests
# more or less for a minute or two: a level that moves within that time takes it for its own.
_STEADY = 1.0e-7
# Two observations in a row so many standard deviations off, in the same direction, are a jump. One alone may be a burst
# of prompts, or what an engine was held up by.
_JUMP = 2.5
# So are many that are a little off, which two in a row never are where answers differ: a cumulative sum of what each is
# off beyond a part of a standard deviation, no single one for more than so many, that grows past a bound (Page 1954).
_SLACK, _SINGLE, _RUN = 0.75, 2.0, 5.0
_NO_RUN = (0.0, 0.0, 0.0)
# How much of the squared residual enters its mean, at which it starts, and its bounds. Residuals are cut at a factor
# of four and a half.
_MEMORY, _FIRST, _LEAST, CUT = 0.05, 0.01, 2.5e-3, 1.5
# What the factor may be: a curve that is further off is for the shape to mend.
SLOWEST, FASTEST = 1e-3, 1e3
# Its logarithm, so that neither bound is passed by rounding.
_SLOW, _FAST = log(SLOWEST * (1 + 1e-12)), log(FASTEST * (1 - 1e-12))


class Level:
    """A Kalman filter of the factor's logarithm (a random walk observed with noise) that also accepts jumps.

    The longer nothing was observed, the more one observation counts; the noise is learned from the residuals.
    `steady`: a factor that drifts less and jumps along, for the shape to be learned by.
    """

    def __init__(self) -> None:
        """At the curve, which is made of the same requests: what they say of the speed as such is in it."""
        self.value = self._slow = 0.0
        self.factor = self.steady = 1.0
        self.variance = self._slow_variance = 0.0
        self.noise = _FIRST
        self.scatter = _FIRST
        self._at: float | None = None
        self._side = 0
        # On the side of faster and of slower: the cumulative sum, and since it was zero the requests and the sum of
        # their residuals.
        self._faster = self._slower = _NO_RUN

    def start(self, value: float) -> None:
        """Begin at this logarithm of the factor."""
        self._set(value, value)

    def doubt(self) -> None:
        """The curve comes from elsewhere."""
        self.variance = self._slow_variance = _WIDEST

    @property
    def spread(self) -> float:
        """Standard deviation of observations about what was expected, jumps included."""
        return sqrt(self.scatter)

    def observe(
        self,
        at: float,
        log_ratio: float,
        requests: float = 1.0,
        doubt: float = 0.0,
        *,
        answers: int = 1,
        among: float = 0.0,
        guess: bool = False,
    ) -> None:
        """A request ran at exp(`log_ratio`) times the curve's speed, or so many together in the mean.

        A part of one is a short answer, whose speed says less. `answers`: how many of them are known one by one, with a
        variance of `among` about their mean. `doubt`: variance of the curve's logarithm at that count. What differs by
        no more than that is for the curve to mend: a level that followed the first requests of a start would take all
        that was learned before along.
        `guess`: the curve there is one, and it tells nothing of the noise.
        """
        variance, slow = self.variance, self._slow_variance
        if self._at is not None:
            passed = at - self._at
            if passed <= 0.0:
                at = self._at
            else:
                unseen = 0.0
                if passed > _SEEN_SECONDS:
                    unseen, passed = _UNSEEN * (passed - _SEEN_SECONDS), _SEEN_SECONDS
                variance = min(variance + _DRIFT * passed + unseen, _WIDEST)
                slow = min(slow + _STEADY * passed + unseen, _WIDEST)
        self._at = at
        residual = log_ratio - self.value
        if not -CUT <= residual <= CUT:
            residual = CUT if residual > 0.0 else -CUT
        # Many together are as far off as the curve is at their count, however little the noise of their mean.
        noise = self.noise / requests
        if noise < _LEAST:
            noise = _LEAST
        noise += doubt
        square = residual * residual + among
        memory = _MEMORY if answers <= 1 else 1.0 - (1.0 - _MEMORY) ** answers
        if not guess:
            self.scatter += memory * (square - self.scatter)
        deviation = residual / sqrt(variance + noise)
        side = (deviation > _JUMP) - (deviation < -_JUMP)
        # No run, as for most, and none begins.
        quiet = self._faster is self._slower and -_SLACK <= deviation <= _SLACK
        change = 0.0 if quiet else self._changed(deviation, residual)
        if side and side == self._side:
            change = residual
        if change:
            variance += change * change
            slow += change * change
        elif answers and not guess:
            # One that is far off is no noise, yet.
            square *= requests / answers
            most = _JUMP * _JUMP * (variance + self.noise)
            self.noise = max(self.noise + memory * (min(square, most) - self.noise), _LEAST)
        self._side = side
        gain, slowly = variance / (variance + noise), slow / (slow + noise)
        self.variance, self._slow_variance = variance * (1.0 - gain), slow * (1.0 - slowly)
        self._set(self.value + gain * residual, self._slow + slowly * (self.value + residual - self._slow))

    def _changed(self, deviation: float, residual: float) -> float:
        """By how much they have been off in the mean, if that is a change; else 0."""
        faster, slower = self._faster, self._slower
        cut = min(max(deviation, -_SINGLE), _SINGLE)
        up, down = faster[0] + cut - _SLACK, slower[0] - cut - _SLACK
        self._faster = faster = (up, faster[1] + 1.0, faster[2] + residual) if up > 0.0 else _NO_RUN
        self._slower = slower = (down, slower[1] + 1.0, slower[2] + residual) if down > 0.0 else _NO_RUN
        if up <= _RUN and down <= _RUN:
            return 0.0
        self._faster = self._slower = _NO_RUN
        _, requests, residuals = faster if up > _RUN else slower
        return residuals / requests

    def _set(self, value: float, slow: float) -> None:
        if not _SLOW <= value <= _FAST:
            value = _FAST if value > 0.0 else _SLOW
        if not _SLOW <= slow <= _FAST:
            slow = _FAST if slow > 0.0 else _SLOW
        self.value, self._slow = value, slow
        self.factor, self.steady = exp(value), exp(slow)
