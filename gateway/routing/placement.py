"""From a preferred pool to the pool that can take the request: availability goes before preference."""

from gateway.routing.types import Choice, ModelLoad, Placement, PoolLoad, Reason, Refusal, Role, other


def prefer(load: ModelLoad, role: Role, reason: Reason) -> Placement:
    """Place on the preferred pool for this reason, else on the other one; see `place`."""
    return place(load, Choice(role, reason))


def place(load: ModelLoad, choice: Choice) -> Placement:
    """Place as this says, if that can be.

    1. The preferred pool has room: it.
    2. It has no replica for this request: the other pool if it has room (`pool_down`).
    3. It is full: the other pool if it has room (`overflow`).
    4. Neither has room: refused, as FULL if waiting can help, as DOWN if no pool has a replica.
    """
    speculative, baseline = load
    role = choice.role
    preferred, fallback = (speculative, baseline) if role == "speculative" else (baseline, speculative)
    if preferred is not None and preferred.has_room:
        return choice
    if fallback is not None and fallback.has_room:
        down = preferred is None or not preferred.available
        return Choice(other(role), Reason.POOL_DOWN if down else Reason.OVERFLOW)
    return _refusal(preferred, fallback)


def pin(load: ModelLoad, role: Role) -> Placement:
    """Place on the named pool and no other."""
    pool = load.pool(role)
    if pool and pool.has_room:
        return Choice(role, Reason.PINNED)
    return _refusal(pool)


def fail_over(load: ModelLoad, role: Role, *, pinned: bool, ceiling: int | None = None) -> Placement:
    """Place a request again after an attempt on `role` failed: the same pool first, then (unless pinned) the other.

    With `ceiling`, a pool that holds so many already comes second: the replica that failed took its share of the
    limit along, and those left must not take on its load as well.
    """
    if pinned:
        placement = pin(load, role)
        return Choice(role, Reason.FAILOVER) if isinstance(placement, Choice) else placement
    same = load.pool(role)
    full = ceiling is not None and same is not None and same.inflight + same.outside >= ceiling
    for candidate in (other(role), role) if full else (role, other(role)):
        pool = load.pool(candidate)
        if pool and pool.has_room:
            return Choice(candidate, Reason.FAILOVER)
    return _refusal(*load)


def _refusal(*pools: PoolLoad | None) -> Refusal:
    return Refusal.FULL if any(pool and pool.available for pool in pools) else Refusal.DOWN
