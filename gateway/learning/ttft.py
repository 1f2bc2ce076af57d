"""Time to first token, by the prompt tokens that a replica has yet to read."""

from collections.abc import Sequence

# Seconds within which observations weigh the same.
_STEP = 0.5


class FirstToken:
    """A straight line by least squares: seconds = `first` + `prefill` x waiting prompt tokens. Old observations fade.

    A prompt is read at a speed of tokens per second, after those before it; both coefficients are kept from falling
    below zero, as a line through noise may.
    """

    def __init__(self, half_life: float) -> None:
        """`half_life` is in seconds. `aged`: how often what was added first has been halved since."""
        self.aged = 0.0
        self._half_life = half_life
        self._at: float | None = None
        self._sums = [0.0] * 5

    def add(self, at: float, waiting: float, seconds: float) -> None:
        """Take in one request's time to first token."""
        if self._at is None:
            self._at = at
        elif at - self._at > _STEP:
            halvings = min((at - self._at) / self._half_life, 0.25)
            self.aged += halvings
            fade = 2**-halvings
            self._sums = [fade * total for total in self._sums]
            self._at = at
        sums = self._sums
        sums[0] += 1.0
        sums[1] += waiting
        sums[2] += seconds
        sums[3] += waiting * waiting
        sums[4] += waiting * seconds

    def line(self) -> tuple[float, float]:
        """`first` and `prefill`; zeros before the first observation."""
        count, across, up, square, product = self._sums
        if not count:
            return 0.0, 0.0
        spread = count * square - across * across
        # With prompts all of one length there is no telling what of the time they take.
        slope = (count * product - across * up) / spread if spread > 0.01 * across * across and count > 4 else 0.0
        slope = max(slope, 0.0)
        first = (up - slope * across) / count
        return (first, slope) if first >= 0 else (0.0, up / across)

    def dump(self) -> list[float]:
        """The sums."""
        return list(self._sums)

    def merge(self, sums: Sequence[float]) -> None:
        """Add what another has dumped."""
        self._sums = [mine + theirs for mine, theirs in zip(self._sums, sums, strict=True)]
