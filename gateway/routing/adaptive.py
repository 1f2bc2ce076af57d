"""Policy `adaptive`: each request where it is worth most, by what is known of both pools' speed.

Pools with hardware of their own are filled one request after the other: a newcomer's worth (see `curve.gains`) is
compared at the counts that it would make. Pools that share hardware get the whole load, one or the other: see
`together`. What is not known well enough is not used: then the policy `threshold` decides, and the mode says why.
"""

from typing import NamedTuple

from gateway.routing.curve import Curve
from gateway.routing.explore import Budget, explore
from gateway.routing.grid import index
from gateway.routing.placement import prefer
from gateway.routing.threshold import SwitchSettings, SwitchState, arrive, spill, switch
from gateway.routing.together import Together, choose
from gateway.routing.types import Choice, ModelLoad, Placement, PoolLoad, Reason, Role, other

# Requests that a curve has to rest on, and the spread at which it is no longer believed: observations a factor of two
# from what was expected. It is believed again below the second figure.
_ENOUGH = 2.0
_WILD, _TAME = 0.7, 0.5


class AdaptiveSettings(NamedTuple):
    """See the configuration. `weight`: 0 for the objective latency, 1 for throughput; times are seconds.

    `capacity`: `max_inflight` of the speculative and of the baseline pool, per replica.
    """

    weight: float = 0.5
    shared_hardware: bool = False
    exploration: float = 0.01
    threshold: int = 5
    resume_below: float = 0.6
    min_dwell: float = 2.0
    fresh_seconds: float = 15.0
    stale_seconds: float = 1800.0
    capacity: tuple[int, int] = (128, 128)


class AdaptiveState(NamedTuple):
    """What the policy remembers from one request to the next.

    `trusted`: whether the curves decided about the last. `changes`: of that, and of the pool on shared hardware.
    """

    budget: Budget = Budget()
    trusted: bool = False
    changes: int = 0
    together: Together = Together()
    switch: SwitchState = SwitchState()


class Arrival(NamedTuple):
    """A request to place at `now` (monotonic seconds). `ticket`: a random number in [0, 1).

    `prompt_tokens`: its own, as far as known; `waiting`: those that have no first token yet, per ready replica of the
    speculative and of the baseline pool.
    """

    now: float
    ticket: float
    prompt_tokens: float = 0.0
    waiting: tuple[float, float] = (0.0, 0.0)


class Decision(NamedTuple):
    """Where to, and why: by pool, the tokens per second `expected` for this request, and what it is `worth` there.

    `mode`: adaptive, exploring, no_evidence, stale, contradicting, or one_pool.
    """

    placement: Placement
    mode: str
    expected: tuple[float, float] = (0.0, 0.0)
    worth: tuple[float, float] = (0.0, 0.0)


def decide(
    load: ModelLoad,
    speculative: Curve,
    baseline: Curve,
    state: AdaptiveState,
    settings: AdaptiveSettings,
    arrival: Arrival,
) -> tuple[Decision, AdaptiveState]:
    """Place one request; the state to go on with comes along."""
    fast, base = load
    if fast is None or base is None:
        return Decision(spill(load, settings.threshold), "one_pool"), state
    shared, now = settings.shared_hardware, arrival.now
    counts = _counts(fast, base, shared=shared)
    expected, worth = _compare(speculative, baseline, counts, arrival)
    budget, trusted, changes, joint, switched = state
    mode = _trust((speculative, baseline), settings, now, limit=_WILD if trusted else _TAME)
    role: Role
    if mode != "adaptive":
        placement, switched = _by_threshold(load, switched, settings, now)
        role = placement.role if isinstance(placement, Choice) else "speculative"
        joint = Together(role, 0.0, joint.strain, now)
    elif shared:
        # Of two loads of one size, the one in the pool that is faster for one of its requests is faster as a whole.
        worth, before = expected, joint.role
        joint = choose(joint, expected, now)
        role = joint.role
        changes += role != before
        placement = prefer(load, role, Reason.ADAPTIVE)
    else:
        role = "speculative" if worth[0] >= worth[1] else "baseline"
        placement = prefer(load, role, Reason.ADAPTIVE)
    changes += trusted != (mode == "adaptive")
    trusted = mode == "adaptive"
    if settings.exploration:
        elsewhere = other(role)
        curve, count = (speculative, counts[0]) if elsewhere == "speculative" else (baseline, counts[1])
        explores, budget = explore(budget, load, elsewhere, curve, count, settings, now, arrival.ticket)
        if explores:
            placement, mode = Choice(elsewhere, Reason.EXPLORATION), "exploring"
    return Decision(placement, mode, expected, worth), AdaptiveState(budget, trusted, changes, joint, switched)


def _counts(fast: PoolLoad, base: PoolLoad, *, shared: bool) -> tuple[int, int]:
    """How many requests the newcomer makes those of its replica: the one with the fewest gets it."""
    if shared:
        both = (fast.inflight + fast.outside + base.inflight + base.outside) // max(fast.ready, base.ready, 1) + 1
        return both, both
    return (
        (fast.inflight + fast.outside) // max(fast.ready, 1) + 1,
        (base.inflight + base.outside) // max(base.ready, 1) + 1,
    )


def _compare(
    speculative: Curve, baseline: Curve, counts: tuple[int, int], arrival: Arrival
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What the newcomer can expect, the wait for its first token included, and what it is worth."""
    rates = speculative.rate(counts[0]), baseline.rate(counts[1])
    gained = speculative.gains[index(counts[0])], baseline.gains[index(counts[1])]
    output = max(speculative.output, baseline.output)
    if not output:
        return rates, gained
    prompt, (ahead, behind) = arrival.prompt_tokens, arrival.waiting
    # Tokens over seconds, where the seconds are the first token's and those of the rest.
    fast = rates[0] / (1.0 + rates[0] * (speculative.first + speculative.prefill * (ahead + prompt)) / output)
    base = rates[1] / (1.0 + rates[1] * (baseline.first + baseline.prefill * (behind + prompt)) / output)
    return (fast, base), (gained[0] - rates[0] + fast, gained[1] - rates[1] + base)


def _trust(curves: tuple[Curve, Curve], settings: AdaptiveSettings, now: float, limit: float) -> str:
    """Whether both curves are to be believed: "adaptive", or why not."""
    speculative, baseline = curves
    if speculative.requests < _ENOUGH or baseline.requests < _ENOUGH:
        return "no_evidence"
    if now - speculative.newest > settings.stale_seconds or now - baseline.newest > settings.stale_seconds:
        return "stale"
    if speculative.spread > limit or baseline.spread > limit:
        return "contradicting"
    return "adaptive"


def _by_threshold(
    load: ModelLoad, state: SwitchState, settings: AdaptiveSettings, now: float
) -> tuple[Placement, SwitchState]:
    if not settings.shared_hardware:
        return spill(load, settings.threshold), state
    terms = SwitchSettings(settings.threshold, settings.resume_below, settings.min_dwell)
    state = arrive(state, load, terms, now)
    return switch(load, state), state
