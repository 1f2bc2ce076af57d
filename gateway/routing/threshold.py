"""Policy `threshold`: the speculative pool while in-flight is below threshold x ready replicas, else the baseline pool.

`spill` looks at the speculative pool's own in-flight, so both pools work under load. `switch` looks at the model's
total and moves all new requests at once, with hysteresis: right where both pools share hardware. A model with one pool
is pinned to it.

What engines hold from elsewhere counts like requests of our own. Where the baseline pool is chosen and would not have
been without it, the reason is `engine_load`. Where gateways can't count together, the others' requests show there.
"""

from collections.abc import Callable
from typing import NamedTuple

from gateway.routing.placement import prefer
from gateway.routing.types import Choice, ModelLoad, Placement, Reason


class SwitchState(NamedTuple):
    """Where `switch` stands. `below_since`: while high, when the total fell below the resume mark (seconds).

    `alone` is where it would stand by our own requests, if that is not the same.
    """

    high: bool = False
    below_since: float | None = None
    alone: "SwitchState | None" = None


class SwitchSettings(NamedTuple):
    """`resume_below` is a fraction of the limit, `min_dwell` seconds, `gateways` as in `limit`."""

    threshold: int
    resume_below: float
    min_dwell: float
    gateways: int = 1


def limit(load: ModelLoad, threshold: int, gateways: int = 1) -> int:
    """In-flight requests at which the speculative pool counts as over.

    Among several gateways that can't count together, one's share of it; at least 1, or it would leave the pool idle.
    """
    whole = threshold * load.speculative.ready if load.speculative else 0
    return whole if gateways == 1 else min(whole, max(whole // gateways, 1))


def spill(load: ModelLoad, threshold: int, gateways: int = 1) -> Placement:
    """Place one request by the speculative pool's in-flight before it: of five allowed, the fifth goes there."""
    if load.speculative is None or load.baseline is None:
        return _only_pool(load)
    ours, outside, ceiling = load.speculative.inflight, load.speculative.outside, limit(load, threshold, gateways)
    total = _with_outside(ours, outside, gateways) if outside else ours
    if total < ceiling or not load.speculative.available:
        return prefer(load, "speculative", Reason.UNDER_THRESHOLD)
    return prefer(load, "baseline", Reason.ENGINE_LOAD if ours < ceiling else Reason.OVER_THRESHOLD)


def switch(load: ModelLoad, state: SwitchState) -> Placement:
    """Place one request by the state that `arrive` left."""
    if load.speculative is None or load.baseline is None:
        return _only_pool(load)
    if state.high and load.speculative.available:
        alone = state.alone is None or state.alone.high
        return prefer(load, "baseline", Reason.OVER_THRESHOLD if alone else Reason.ENGINE_LOAD)
    return prefer(load, "speculative", Reason.UNDER_THRESHOLD)


def arrive(state: SwitchState, load: ModelLoad, settings: SwitchSettings, now: float) -> SwitchState:
    """The state that decides about a newcomer: high once the total before it has reached the limit.

    With no speculative replica ready there is no limit to compare with, and the state stays.
    """
    return _with_and_without(_arrived, state, load, settings, now)


def settle(state: SwitchState, load: ModelLoad, settings: SwitchSettings, now: float) -> SwitchState:
    """The state after a change of load: low once the total stayed below the resume mark for `min_dwell`."""
    return _with_and_without(_settled, state, load, settings, now)


_Step = Callable[[SwitchState, float, int, SwitchSettings, float], SwitchState]


def _with_outside(ours: int, outside: int, gateways: int) -> float:
    """What to compare with the limit: all requests. With one's share of it: the same share of all, or ours if more."""
    return ours + outside if gateways == 1 else max(ours, (ours + outside) / gateways)


def _with_and_without(
    step: _Step, state: SwitchState, load: ModelLoad, settings: SwitchSettings, now: float
) -> SwitchState:
    """The next state, and beside it what it would be if engines held nothing from elsewhere."""
    ours, outside, ceiling = load.inflight, load.outside, limit(load, settings.threshold, settings.gateways)
    if not outside and state.alone is None:
        return step(state, ours, ceiling, settings, now)
    alone = step(state.alone or state, ours, ceiling, settings, now)
    total = _with_outside(ours, outside, settings.gateways)
    state = step(state._replace(alone=None), total, ceiling, settings, now)
    return state if state == alone else state._replace(alone=alone)


def _arrived(state: SwitchState, total: float, ceiling: int, settings: SwitchSettings, now: float) -> SwitchState:
    state = _settled(state, total, ceiling, settings, now)
    if not state.high and ceiling and total >= ceiling:
        return SwitchState(high=True)
    return state


def _settled(state: SwitchState, total: float, ceiling: int, settings: SwitchSettings, now: float) -> SwitchState:
    if not state.high or not ceiling:
        return state
    if total >= settings.resume_below * ceiling:
        return SwitchState(high=True)
    since = now if state.below_since is None else state.below_since
    if now - since >= settings.min_dwell:
        return SwitchState()
    return SwitchState(high=True, below_since=since)


def _only_pool(load: ModelLoad) -> Placement:
    placement = prefer(load, "speculative" if load.speculative else "baseline", Reason.PINNED)
    return Choice(placement.role, Reason.PINNED) if isinstance(placement, Choice) else placement
