"""What the reasons of placements stand for on the panels. Each reason that the gateway has is in one group."""

from typing import NamedTuple

from gateway.routing import Reason


class Group(NamedTuple):
    """Reasons that say the same of the policy; `about` is the legend."""

    about: str
    reasons: tuple[Reason, ...]

    @property
    def matcher(self) -> str:
        """Selects them."""
        return f'reason=~"{"|".join(self.reasons)}"'


BELOW_LIMIT = Group("below the limit", (Reason.UNDER_THRESHOLD,))
# Requests that come past the gateway fill the speculative pool like its own: `engine_load` is the limit as well.
AT_LIMIT = Group("because of the limit", (Reason.OVER_THRESHOLD, Reason.ENGINE_LOAD))
LEARNED = Group("by what was learned", (Reason.ADAPTIVE,))
TO_LEARN = Group("to learn", (Reason.EXPLORATION,))
FORCED = Group("the other pool was full, down or had failed", (Reason.OVERFLOW, Reason.POOL_DOWN, Reason.FAILOVER))
ASKED = Group("one pool to choose from", (Reason.PINNED,))
GROUPS = (BELOW_LIMIT, AT_LIMIT, LEARNED, TO_LEARN, FORCED, ASKED)
# The policy's free choices: those that say something of its threshold, or of what it has learned.
CHOSEN = Group("chosen", (*BELOW_LIMIT.reasons, *AT_LIMIT.reasons, *LEARNED.reasons))
