"""Policy `adaptive`: each request where it is worth most, by what is known of both pools' speed.

Pools with hardware of their own are filled one request after the other: a newcomer's worth (see `curve.gains`) is
compared at the counts that it would make. Pools that share hardware get the whole load, one or the other: see
`together`. What is not known well enough is not used: then the policy `threshold` decides, and the mode says why.
"""

from typing import NamedTuple

from gateway.routing.curve import Curve
from gateway.routing.explore import Budget, charge, explore
from gateway.routing.grid import NODES, index
from gateway.routing.nudge import Nudge, go_on, size
from gateway.routing.placement import place
from gateway.routing.threshold import SwitchSettings, SwitchState, arrive, spill, switch
from gateway.routing.together import Together, choose
from gateway.routing.types import ROLES, Choice, Mode, ModelLoad, Placement, Reason, Refusal, Role, other

# Requests that a curve has to rest on, and the spread at which it is no longer believed: observations a factor of two
# from what was expected. It is believed again below the second figure.
_ENOUGH = 2.0
_WILD, _TAME = 0.7, 0.5
# On shared hardware, up to what multiple of the most in flight that the baseline was seen with its curve is more than a
# guess. There the whole load would have to go to find out, where a pool with hardware of its own gets one request more.
# By the second figure it is believed again.
_BEYOND, _BACK = 2.0, 1.5
# From what multiple of the usual requests on a replica on there are many.
_PEAK = 1.5
# Requests near a count that make it a known one.
_KNOWN = 0.5
_CHOICES: dict[Role, Choice] = {role: Choice(role, Reason.ADAPTIVE) for role in ROLES}


class AdaptiveSettings(NamedTuple):
    """See the configuration. `weight`: 0 for the objective latency, 1 for throughput; times are seconds.

    `capacity`: `max_inflight` of the speculative and of the baseline pool, per replica.
    """

    weight: float = 0.85
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
    nudge: Nudge = Nudge()


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

    Both are those of the next node of the curves.
    """

    placement: Placement
    mode: Mode
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
    now, shared = arrival.now, settings.shared_hardware
    budget, trusted, changes, joint, switched, leaning = state
    # How many requests the newcomer makes those of its replica: the one with the fewest gets it.
    ahead, replicas, _, _, outside = fast
    behind, others, _, _, beside = base
    if shared:
        count = (ahead + outside + behind + beside) // max(replicas, others, 1) + 1
        counts, node = (count, 0), index(count)
        nodes = node, node
    else:
        counts = (ahead + outside) // (replicas or 1) + 1, (behind + beside) // (others or 1) + 1
        nodes = index(counts[0]), index(counts[1])
    expected, worth = _compare(speculative, baseline, nodes, arrival)
    mode = _trust(speculative, baseline, settings, now, trusted, counts[0], expected)
    role: Role
    if mode != "adaptive":
        placement, switched = _by_threshold(load, switched, settings, now)
        role = placement.role if isinstance(placement, Choice) else "speculative"
        joint = joint._replace(role=role, regret=0.0, at=now, lost=0.0, held=counts[0], proven=True)
    elif shared:
        # Of two loads of one size, the one in the pool that is faster for one of its requests is faster as a whole.
        worth, before = expected, joint.role
        joint = choose(joint, expected, now, count)
        role = joint.role
        changes += role != before
        placement = place(load, _CHOICES[role])
        here, there = (expected[0], baseline) if role == "speculative" else (expected[1], speculative)
        counts = _in_question(there, node, count, here, joint.usual), 0
    else:
        role = "speculative" if worth[0] >= worth[1] else "baseline"
        if settings.exploration:
            if now >= leaning.until:
                output = speculative.output or baseline.output
                leaning = go_on(leaning, now, output / (min(expected) or 1.0), settings.exploration)
            if leaning.turn % 2:
                role, leaning = _nudged(role, leaning, load, (speculative, baseline), counts, nodes, worth)
        placement = place(load, _CHOICES[role])
    if isinstance(placement, Refusal):
        # It will ask again.
        return Decision(placement, mode, expected, worth), state
    if trusted != (mode == "adaptive"):
        trusted, changes = not trusted, changes + 1
    if settings.exploration:
        curve = baseline if role == "speculative" else speculative
        count = counts[0] if shared or role == "baseline" else counts[1]
        explores, budget = explore(budget, load, other(role), curve, count, settings, now, arrival.ticket)
        if explores:
            budget = charge(budget, _lost(role, expected, worth) if mode == "adaptive" else 0.0)
            placement, mode = Choice(other(role), Reason.EXPLORATION), "exploring"
    after = budget, trusted, changes, joint, switched, leaning
    return Decision(placement, mode, expected, worth), state if after == state else AdaptiveState(*after)


def _compare(
    speculative: Curve, baseline: Curve, nodes: tuple[int, int], arrival: Arrival
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What the newcomer can expect, the wait for its first token included, and what it is worth."""
    fast, base = speculative.rates[nodes[0]], baseline.rates[nodes[1]]
    gained, instead = speculative.gains[nodes[0]], baseline.gains[nodes[1]]
    output = speculative.output or baseline.output
    if not output:
        return (fast, base), (gained, instead)
    _, _, prompt, (ahead, behind) = arrival
    # Tokens over seconds, where the seconds are the first token's and those of the rest.
    soon = fast / (1.0 + fast * (speculative.first + speculative.prefill * (ahead + prompt)) / output)
    late = base / (1.0 + base * (baseline.first + baseline.prefill * (behind + prompt)) / output)
    return (soon, late), (gained - fast + soon, instead - base + late)


def _in_question(curve: Curve, node: int, count: int, instead: float, usual: float) -> int:
    """Up to what count there is something to learn of a pool whose hardware serves `count` requests at this speed.

    `node`: that of `count`. With more requests none gets faster: a pool that is slower even with fewer, as was seen, is
    slower with `count`. And the whole load is not sent elsewhere to learn of a count far above the usual: it would be
    over by then, and what that costs falls on the most.
    """
    known = curve.known
    if known[node] >= _KNOWN:
        return count
    for fewer in range(node - 1, -1, -1):
        if known[fewer] >= _KNOWN:
            return NODES[fewer] if curve.rates[fewer] < instead or count > _PEAK * usual else count
    return count


def _lost(role: Role, expected: tuple[float, float], worth: tuple[float, float]) -> float:
    """The work that is lost if a request goes elsewhere than to `role`, in requests: its worth, as long as it takes."""
    here, there, speed = (*worth, expected[1]) if role == "speculative" else (worth[1], worth[0], expected[0])
    return (here - there) / speed if speed > 0.0 else 0.0


def _nudged(
    role: Role,
    state: Nudge,
    load: ModelLoad,
    curves: tuple[Curve, Curve],
    counts: tuple[int, int],
    nodes: tuple[int, int],
    worth: tuple[float, float],
) -> tuple[Role, Nudge]:
    """Where to instead of to `role` while the division is shifted: to where the next would go with the shift made."""
    fast, base = load
    fewer = state.by
    if (role == "speculative") != (fewer > 0) or fast is None or base is None:
        return role, state
    (speculative, baseline), (ahead, behind) = curves, nodes
    curve, count, node = (baseline, counts[1], behind) if fewer > 0 else (speculative, counts[0], ahead)
    if curve.known[node] < _KNOWN and curve.known[index(count - 1)] < _KNOWN:
        return role, state
    whole = fast.inflight * speculative.rates[ahead] + base.inflight * baseline.rates[behind]
    lost = abs(worth[0] - worth[1]) * max(fast.ready, base.ready)
    by = size(counts, lost, whole)
    if not by or whole <= 0.0:
        return role, state
    shift = by * fewer
    gained = worth[0] - speculative.gains[ahead] + speculative.gains[index(max(counts[0] + shift, 1))]
    instead = worth[1] - baseline.gains[behind] + baseline.gains[index(max(counts[1] - shift, 1))]
    if (gained >= instead) == (role == "speculative"):
        return role, state
    cost = lost * by / whole
    return other(role), state if cost <= state.cost else Nudge(state.turn, state.until, cost)


def _trust(
    speculative: Curve,
    baseline: Curve,
    settings: AdaptiveSettings,
    now: float,
    trusted: bool,
    count: int,
    expected: tuple[float, float],
) -> Mode:
    """Whether both curves are to be believed of `count` requests on a replica: "adaptive", or why not."""
    if speculative.requests < _ENOUGH or baseline.requests < _ENOUGH:
        return "no_evidence"
    stale = settings.stale_seconds
    if now - speculative.newest > stale or now - baseline.newest > stale:
        return "stale"
    limit = _WILD if trusted else _TAME
    if speculative.spread > limit or baseline.spread > limit:
        return "contradicting"
    if count > settings.threshold and settings.shared_hardware and expected[0] > expected[1]:
        # There the threshold holds until the baseline was seen with about as many.
        beyond = _BEYOND if trusted else _BACK
        return "no_evidence" if count > beyond * baseline.highest else "adaptive"
    return "adaptive"


def _by_threshold(
    load: ModelLoad, state: SwitchState, settings: AdaptiveSettings, now: float
) -> tuple[Placement, SwitchState]:
    if not settings.shared_hardware:
        return spill(load, settings.threshold), state
    terms = SwitchSettings(settings.threshold, settings.resume_below, settings.min_dwell)
    state = arrive(state, load, terms, now)
    return switch(load, state), state
