"""What a policy sees and what it answers. Values only: no sockets, clocks or counters live here."""

from enum import Enum, StrEnum
from typing import Literal, NamedTuple

Role = Literal["speculative", "baseline"]
ROLES: tuple[Role, Role] = ("speculative", "baseline")


def other(role: Role) -> Role:
    """Return the role that is not `role`."""
    return "baseline" if role == "speculative" else "speculative"


class Reason(StrEnum):
    """Why a request went where it went: a closed set, used as a metric label."""

    UNDER_THRESHOLD = "under_threshold"
    OVER_THRESHOLD = "over_threshold"
    ENGINE_LOAD = "engine_load"
    OVERFLOW = "overflow"
    POOL_DOWN = "pool_down"
    PINNED = "pinned"
    FAILOVER = "failover"
    ADAPTIVE = "adaptive"
    EXPLORATION = "exploration"


# How the policy `adaptive` came to a placement: a closed set, used as a metric label.
Mode = Literal["adaptive", "exploring", "no_evidence", "stale", "contradicting", "one_pool"]


class Refusal(Enum):
    """Why a request can't be placed now."""

    FULL = "full"
    DOWN = "down"


class PoolLoad(NamedTuple):
    """One pool at one instant.

    `inflight` counts every lease of the pool, those on replicas that drain included. `ready` counts the replicas that
    take new requests. `available` says that one of them may take this request (none is left once a retry has tried them
    all); `has_room` that one of those holds fewer leases than `max_inflight`. `outside` counts what the ready replicas'
    engines hold beside the leases, as far as that is known: it weighs in preferences and never takes away room.
    """

    inflight: int
    ready: int
    available: bool
    has_room: bool
    outside: int = 0


class ModelLoad(NamedTuple):
    """Both pools of a model at one instant; None for a pool that the configuration does not have."""

    speculative: PoolLoad | None
    baseline: PoolLoad | None

    def pool(self, role: Role) -> PoolLoad | None:
        """Return the load of the pool with this role."""
        return self.speculative if role == "speculative" else self.baseline

    @property
    def inflight(self) -> int:
        """In-flight requests of the model, over both pools."""
        return sum(pool.inflight for pool in self if pool)

    @property
    def outside(self) -> int:
        """What engines hold beside the leases, over both pools."""
        return sum(pool.outside for pool in self if pool)


class Choice(NamedTuple):
    """The pool chosen, and why. Which of its replicas is `balance`'s to say."""

    role: Role
    reason: Reason


Placement = Choice | Refusal
