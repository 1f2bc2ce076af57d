"""How long to wait between failed requests."""

from collections.abc import Callable

_FIRST = 0.2


class Backoff:
    """Pauses that double, from 0.2 s up to a maximum; each is drawn between its half and its whole."""

    def __init__(self, longest: float, jitter: Callable[[], float]) -> None:
        """`longest` in seconds; `jitter` gives numbers from 0 to 1."""
        self._longest = longest
        self._jitter = jitter
        self._next = min(_FIRST, longest)

    def reset(self) -> None:
        """It went well: start anew at the next failure."""
        self._next = min(_FIRST, self._longest)

    def pause(self, at_least: float = 0.0) -> float:
        """The seconds to wait now; at least as many as the server asked for, plus a part of our own."""
        whole = self._next
        self._next = min(whole * 2, self._longest)
        return at_least + whole * (0.5 + self._jitter() / 2)
