"""Requests sent where the policy would not, to learn what it would be like there: few, and counted.

Invariant: over any stretch of requests no more than `exploration` of them explore, beyond BURST + LONGEST, and what
those lose is no larger a part of the work by what is believed. None does while more than half of the capacity is in
use, and none where the evidence is fresh.
"""

from math import inf
from typing import NamedTuple, Protocol

from gateway.routing.curve import Curve
from gateway.routing.grid import index
from gateway.routing.types import ModelLoad, PoolLoad, Role

# Explorations that can be saved up; so many are there at the start.
BURST = 4.0
# Seconds between two: what the first one tells should be known before the second.
_APART = 3.0
# Seconds for which a trial goes on that the policy's own choices come between.
_PATIENCE = 30.0
# Seconds after its end by which what an exploration told is in the curve.
_HEARD = 1.5
# Requests near a count that make it a known one.
_KNOWN = 0.5
# What part of those near the pool's present count is little at a higher one.
_LITTLE = 0.02
# The most requests in a row that explore. As so many one of them counts at most, or a pool that was very slow once is
# never looked at again.
LONGEST = 64


class Exploring(Protocol):
    """What of the settings matters here."""

    @property
    def exploration(self) -> float: ...
    @property
    def fresh_seconds(self) -> float: ...
    @property
    def stale_seconds(self) -> float: ...
    @property
    def shared_hardware(self) -> bool: ...
    @property
    def capacity(self) -> tuple[int, int]: ...


class Budget(NamedTuple):
    """`credit`: explorations that may be made; below zero after a trial. `at`: when the last began (monotonic seconds).

    `trial`: of those to come, how many belong to one that has begun; all go to `role`, where the last went. `silent`:
    since when nothing is in flight there, and nothing was told.
    """

    credit: float = BURST
    at: float = -inf
    trial: int = 0
    role: Role = "baseline"
    silent: float = inf


def explore(
    budget: Budget,
    load: ModelLoad,
    role: Role,
    curve: Curve,
    count: int,
    settings: Exploring,
    now: float,
    ticket: float,
) -> tuple[bool, Budget]:
    """Whether this request is to explore the pool of this role, where it would make a replica's requests `count`.

    One request tells whether a pool that is not used now has become faster. How it would do with more requests than it
    was ever seen with takes that many more at once, on credit. On shared hardware a request among those in the other
    pool does not show how fast the pool would be for the whole load: that takes two generations of the whole load.
    An answer of a few tokens tells nothing: then another is sent soon, on credit. So is one there where what such a
    trial costs keeps others away for so long that the pool would be known no more.
    """
    credit, at, trial, trying, silent = budget
    credit += settings.exploration
    if credit > BURST:
        credit = BURST
    if trial:
        if trying == role and _spare(load, role, settings):
            return True, Budget(credit - 1.0, at, trial - 1, role)
        if trying != role and now - at <= _PATIENCE:
            # The policy itself sends this one there.
            return False, Budget(credit, at, trial, trying)
    least = 1.0
    if credit < 1.0 and trying == role and curve.newest < at:
        silent = _silence(silent, load.pool(role), curve, now)
        if now - silent >= _HEARD:
            least -= BURST
    else:
        silent = inf
    if credit < 1.0 and _overdue(budget, curve, settings, now) and _spare(load, role, settings):
        return True, Budget(credit - 1.0, now, 0, role)
    if credit >= least and now - at >= _APART and (ticket < 0.5 or curve.requests < 1.0):
        trial = _trial(curve, count, _reach(load, role), now, settings)
        if trial and _spare(load, role, settings):
            return True, Budget(credit - 1.0, now, trial - 1, role)
    after = credit, at, 0, trying, silent
    # With all the credit saved up, as mostly under load, nothing changes, and to see that costs less than a new one.
    return False, budget if after == budget else Budget(*after)


def charge(budget: Budget, lost: float) -> Budget:
    """The budget after an exploration that loses so much work, in requests. One is taken for each as it is."""
    return budget._replace(credit=budget.credit - min(lost, float(LONGEST)) + 1.0) if lost > 1.0 else budget


def _silence(since: float, pool: PoolLoad | None, curve: Curve, now: float) -> float:
    """Since when an exploration that told nothing so far has ended; inf: it goes on, or there was nothing before it."""
    return inf if pool is None or pool.inflight or curve.requests < 1.0 else min(since, now)


def _overdue(budget: Budget, curve: Curve, settings: Exploring, now: float) -> bool:
    """Whether nothing was seen of a pool for half of the time after which it is known no more."""
    late = now - max(budget.at, curve.newest) > settings.stale_seconds / 2
    return late and settings.shared_hardware and curve.requests >= 1.0 and budget.credit >= 1.0 - LONGEST


def _reach(load: ModelLoad, role: Role) -> int:
    """How many requests a replica would hold if this pool had all there are, and one more."""
    pool = load.pool(role)
    return 0 if pool is None else -(-(load.inflight + load.outside + 1) // max(pool.ready, 1))


def _trial(curve: Curve, count: int, reach: int, now: float, settings: Exploring) -> int:
    """How many requests it takes to learn what is not known of a pool; 0 where all is, that matters now.

    No more than there are can be had: a count beyond `reach` stays unknown, and not for want of trying.
    """
    if curve.known[index(count)] < _KNOWN:
        return min(2 * count + 2, LONGEST) if settings.shared_hardware else 1
    if now - curve.newest > settings.fresh_seconds:
        return 1
    further = count // 3 + 3
    highest = max(min(count + further, reach), count)
    # What little was seen there, at the start perhaps, is not to keep requests away for good.
    little = max(_KNOWN, _LITTLE * curve.known[index(count)])
    if curve.known[index(highest)] < little and not settings.shared_hardware:
        return min(further, LONGEST)
    return 0


def _spare(load: ModelLoad, role: Role, settings: Exploring) -> bool:
    """Whether no more than half of the capacity is in use, of the model and of this pool, which has room."""
    used = total = 0
    for pool, capacity in zip(load, settings.capacity, strict=True):
        if pool is not None:
            used += pool.inflight + pool.outside
            total += capacity * pool.ready
    pool = load.pool(role)
    if pool is None or not pool.has_room or 2 * used > total:
        return False
    held = settings.capacity[role == "baseline"] * pool.ready
    return 2 * (pool.inflight + pool.outside) <= held
