"""The division between two pools, shifted a little to and fro: what a few requests more or less in each are worth.

Pools that hold the same counts for long show their speed at those and not how it changes with one request more, which
is what a newcomer's worth depends on. Near the best division a small shift costs next to nothing (the sum is flat at
its maximum); where the division was not the best, one of both directions gains. No count is looked into that is more
than one beyond a known one, and what the shifts cost by what is believed is bounded, so this is no exploration, and
goes on under load.
"""

from typing import NamedTuple

# A shift is so large a part of the counts' geometric mean, and one request at least.
_PART = 0.1
# It lasts as long as so many requests take one after the other, within these bounds in seconds; then the division is
# the believed best for as long, or longer after a shift that cost much.
_GENERATIONS, _SHORTEST, _LONGEST = 2.0, 4.0, 120.0
# What part of the speed of the whole a shift may cost while it lasts.
_MOST = 0.05
_TURNS = (0, 1, 0, -1)


class Nudge(NamedTuple):
    """`turn`: which of _TURNS it is at, until `until` (monotonic seconds). `cost`: what part of the speed it takes."""

    turn: int = 0
    until: float = float("-inf")
    cost: float = 0.0

    @property
    def by(self) -> int:
        """1: fewer into the speculative pool than seems best; -1: more."""
        return _TURNS[self.turn]


def go_on(state: Nudge, now: float, seconds: float, share: float) -> Nudge:
    """The next turn, if it is time; a request takes so many `seconds`.

    Over turns and rests, shifts cost no more than `share` of the speed of the whole.
    """
    if now < state.until:
        return state
    lasts = min(max(_GENERATIONS * seconds, _SHORTEST), _LONGEST)
    rest = max(state.cost / share, 1.0) if share > 0.0 else 1.0
    return Nudge((state.turn + 1) % len(_TURNS), now + lasts * rest)


def size(counts: tuple[int, int], lost: float, whole: float) -> int:
    """How many requests the division is shifted by, where replicas of the two pools hold so many.

    `lost`: tokens per second that the first of them costs, of the `whole`; 0: all that it may be are too dear.
    """
    wanted = max(int(_PART * (counts[0] * counts[1]) ** 0.5), 1)
    return wanted if lost * wanted <= _MOST * whole else int(_MOST * whole / lost)
