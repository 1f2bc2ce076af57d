"""From a model's policy to a placement, at one instant's load or for every load that could be.

The script that decides for several gateways (gateway/load/shared/step.lua) knows no policy: it is given a table of what
the policy says in each case that the counts can make.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from gateway.config import Policy
from gateway.load.shared import Terms
from gateway.pools import Replica
from gateway.routing import (
    Choice,
    ModelLoad,
    Placement,
    PoolLoad,
    Reason,
    Refusal,
    Role,
    SwitchState,
    fail_over,
    limit,
    pin,
    prefer,
    spill,
    switch,
)


class Ask(NamedTuple):
    """What a request wants of placement. `failed` is the role of the attempt before, `tried` the replicas so far.

    `size`: bytes of its body. `wish`: what the policy `adaptive` has decided, if it was asked.
    """

    affinity: int = 0
    pinned: Role | None = None
    failed: Role | None = None
    tried: Collection[Replica] = ()
    size: int = 0
    wish: Choice | None = None


def place(policy: Policy, load: ModelLoad, ask: Ask, state: SwitchState, gateways: int = 1) -> Placement:
    """What the policy says; `state` is what `arrive` has left where the mode is `switch`, `gateways` as in `limit`."""
    if policy.kind == "pinned":
        return fail_over(load, ask.failed, pinned=True) if ask.failed else pin(load, ask.pinned or policy.pool)
    if policy.kind == "adaptive":
        return _as_decided(load, ask)
    spills = policy.mode == "spill"
    if ask.failed:
        ceiling = limit(load, policy.threshold, gateways) if spills and ask.failed == "speculative" else None
        return fail_over(load, ask.failed, pinned=ask.pinned is not None, ceiling=ceiling)
    if ask.pinned:
        return pin(load, ask.pinned)
    return spill(load, policy.threshold, gateways) if spills else switch(load, state)


class Table(NamedTuple):
    """A policy for one kind of request: `choices` by case, as step.lua counts them, and `letters` for the script.

    `test`: what makes a case one of too much load: "s", the speculative pool's limit; "w", the switch; "-", nothing.
    `refusal`: the answer where no case has a place.
    """

    test: str
    letters: str
    choices: tuple[Placement, ...]
    refusal: Refusal | None


def table(policy: Policy, ask: Ask, speculative: bool | None, baseline: bool | None) -> Table:
    """The policy for a request like this, by what the script will count.

    `speculative` and `baseline`: whether the pool has a replica for this request; None: there is no such pool.
    """
    choices = tuple(_case(policy, ask, speculative, baseline, case) for case in range(16))
    letters = "".join(choice.role[0] if isinstance(choice, Choice) else "-" for choice in choices)
    test = "-"
    if policy.kind == "threshold" and speculative is not None and baseline is not None and not ask.pinned:
        test = "s" if policy.mode == "spill" else "-" if ask.failed else "w"
    refusal = None
    if not any(isinstance(choice, Choice) for choice in choices):
        refusal = next(choice for choice in choices if isinstance(choice, Refusal))
    return Table(test, letters, choices, refusal)


def terms(policy: Policy, ready: int, caps: Sequence[int], outside: Sequence[int], *, both: bool) -> Terms:
    """What a table's cases are counted by: the speculative pool's ready replicas, and by pool the rest of it."""
    if policy.kind != "threshold" or not both:
        return Terms(0, -1.0, 0, *caps, *outside)
    bound = policy.threshold * ready
    if policy.mode == "spill":
        return Terms(bound, -1.0, 0, *caps, *outside)
    return Terms(bound, policy.resume_below * bound, int(policy.min_dwell * 1000), *caps, *outside)


def _as_decided(load: ModelLoad, ask: Ask) -> Placement:
    if ask.failed:
        return fail_over(load, ask.failed, pinned=ask.pinned is not None)
    if ask.pinned:
        return pin(load, ask.pinned)
    role, reason = ask.wish or Choice("baseline", Reason.ADAPTIVE)
    return prefer(load, role, reason)


def _case(policy: Policy, ask: Ask, speculative: bool | None, baseline: bool | None, case: int) -> Placement:
    """What the policy says at a load that makes this case."""
    alone, over, rooms = bool(case & 8), bool(case & 4), (bool(case & 2), bool(case & 1))
    full = policy.threshold if policy.kind == "threshold" else 1
    inflight, outside = full if alone else 0, full if over else 0
    loads = [
        None if there is None else PoolLoad(inflight, 1, there, there and room, outside)
        for there, room in zip((speculative, baseline), rooms, strict=True)
    ]
    state = SwitchState(high=over, alone=SwitchState(high=alone))
    return place(policy, ModelLoad(*loads), ask, state)
