"""Policy `threshold`: the speculative pool while in-flight is below threshold x ready replicas, else the baseline pool.

`spill` looks at the speculative pool's own in-flight, so both pools work under load. `switch` looks at the model's
total and moves all new requests at once, with hysteresis: right where both pools share hardware. A model with one pool
is pinned to it.
"""

from typing import NamedTuple

from gateway.routing.placement import prefer
from gateway.routing.types import Choice, ModelLoad, Placement, Reason


class SwitchState(NamedTuple):
    """Where `switch` stands. `below_since`: while high, when the total fell below the resume mark (seconds)."""

    high: bool = False
    below_since: float | None = None


class SwitchSettings(NamedTuple):
    """`resume_below` is a fraction of the limit, `min_dwell` seconds."""

    threshold: int
    resume_below: float
    min_dwell: float


def limit(load: ModelLoad, threshold: int) -> int:
    """In-flight requests at which the speculative pool counts as over."""
    return threshold * load.speculative.ready if load.speculative else 0


def spill(load: ModelLoad, threshold: int) -> Placement:
    """Place one request by the speculative pool's in-flight before it: of five allowed, the fifth goes there."""
    if load.speculative is None or load.baseline is None:
        return _only_pool(load)
    if load.speculative.inflight < limit(load, threshold) or not load.speculative.available:
        return prefer(load, "speculative", Reason.UNDER_THRESHOLD)
    return prefer(load, "baseline", Reason.OVER_THRESHOLD)


def switch(load: ModelLoad, state: SwitchState) -> Placement:
    """Place one request by the state that `arrive` left."""
    if load.speculative is None or load.baseline is None:
        return _only_pool(load)
    if state.high and load.speculative.available:
        return prefer(load, "baseline", Reason.OVER_THRESHOLD)
    return prefer(load, "speculative", Reason.UNDER_THRESHOLD)


def arrive(state: SwitchState, load: ModelLoad, settings: SwitchSettings, now: float) -> SwitchState:
    """The state that decides about a newcomer: high once the total before it has reached the limit.

    With no speculative replica ready there is no limit to compare with, and the state stays.
    """
    state = settle(state, load, settings, now)
    ceiling = limit(load, settings.threshold)
    if not state.high and ceiling and load.inflight >= ceiling:
        return SwitchState(high=True)
    return state


def settle(state: SwitchState, load: ModelLoad, settings: SwitchSettings, now: float) -> SwitchState:
    """The state after a change of load: low once the total stayed below the resume mark for `min_dwell`."""
    ceiling = limit(load, settings.threshold)
    if not state.high or not ceiling:
        return state
    if load.inflight >= settings.resume_below * ceiling:
        return SwitchState(high=True)
    since = now if state.below_since is None else state.below_since
    if now - since >= settings.min_dwell:
        return SwitchState()
    return SwitchState(high=True, below_since=since)


def _only_pool(load: ModelLoad) -> Placement:
    placement = prefer(load, "speculative" if load.speculative else "baseline", Reason.PINNED)
    return Choice(placement.role, Reason.PINNED) if isinstance(placement, Choice) else placement
