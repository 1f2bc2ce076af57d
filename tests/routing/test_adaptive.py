"""Policy `adaptive`: what is worth most, what is trusted, what is explored."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import exact_curve
from gateway.routing import (
    UNKNOWN,
    AdaptiveSettings,
    AdaptiveState,
    Arrival,
    Choice,
    Curve,
    Decision,
    Reason,
    Role,
    decide,
    spill,
)
from tests.routing.loads import DOWN, FULL, IDLE, both, loads, pool

NOW = 1000.0
# The tree and the baseline of one H200: crossing at 10 requests on each.
TREE = [(1, 240.0), (5, 233.6), (10, 171.7), (20, 124.9), (40, 74.0), (128, 21.6)]
PLAIN = [(1, 205.0), (5, 195.8), (10, 176.5), (20, 174.7), (40, 149.0), (128, 80.5)]


def curve(points: list[tuple[int, float]], weight: float = 0.5, **changes: Any) -> Curve:
    return exact_curve(points, weight, NOW)._replace(**changes)


def place(
    fast: int,
    plain: int,
    *,
    speculative: Curve | None = None,
    baseline: Curve | None = None,
    state: AdaptiveState | None = None,
    ticket: float = 0.9,
    now: float = NOW,
    waiting: tuple[float, float] = (0.0, 0.0),
    **settings: Any,
) -> tuple[Decision, AdaptiveState]:
    made = AdaptiveSettings(**{"exploration": 0.0, **settings})
    curves = speculative or curve(TREE, made.weight), baseline or curve(PLAIN, made.weight)
    return decide(
        both(pool(fast), pool(plain)),
        *curves,
        state or AdaptiveState(trusted=True),
        made,
        Arrival(now, ticket, waiting=waiting),
    )


def role(decision: Decision) -> Role:
    assert isinstance(decision.placement, Choice)
    return decision.placement.role


def split(total: int, weight: float) -> int:
    """How many of so many requests end up in the speculative pool, placed one after the other."""
    fast = 0
    for placed in range(total):
        decision, _ = place(fast, placed - fast, weight=weight)
        fast += role(decision) == "speculative"
    return fast


def test_low_load_goes_where_one_request_is_fastest() -> None:
    decision, _ = place(0, 0)
    assert decision.placement == Choice("speculative", Reason.ADAPTIVE)
    assert decision.mode == "adaptive"
    assert decision.expected == (240.0, 205.0)


@pytest.mark.parametrize("total", [5, 20, 60, 128])
def test_throughput_comes_near_the_best_split(total: int) -> None:
    def worth(fast: int) -> float:
        tree, plain = curve(TREE), curve(PLAIN)
        return (fast * tree.rate(fast) if fast else 0) + (
            (total - fast) * plain.rate(total - fast) if fast < total else 0
        )

    best = max(worth(fast) for fast in range(total + 1))
    assert worth(split(total, 1.0)) >= 0.99 * best


def test_the_weight_lies_between_its_ends() -> None:
    splits = [[split(total, weight) for weight in (0.0, 0.5, 1.0)] for total in (20, 60, 128)]
    assert all(latency >= balanced >= throughput for latency, balanced, throughput in splits)
    assert any(latency > throughput for latency, _, throughput in splits)


def test_a_pool_with_long_prompts_before_it_is_worth_less() -> None:
    fast = curve(TREE, output=100.0, first=0.05, prefill=0.001)
    plain = curve(PLAIN, output=100.0, first=0.05, prefill=0.001)
    assert role(place(1, 1, speculative=fast, baseline=plain)[0]) == "speculative"
    assert role(place(1, 1, speculative=fast, baseline=plain, waiting=(5000.0, 0.0))[0]) == "baseline"


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"requests": 1.0}, "no_evidence"),
        ({"newest": NOW - 2000}, "stale"),
        ({"spread": 0.8}, "contradicting"),
    ],
)
@pytest.mark.parametrize("which", ["speculative", "baseline"])
def test_what_is_not_known_is_left_to_the_threshold(changes: dict[str, float], mode: str, which: str) -> None:
    points = TREE if which == "speculative" else PLAIN
    for inflight in (4, 5):
        doubted = curve(points, **changes)
        decision, after = (
            place(inflight, 0, speculative=doubted) if which == "speculative" else place(inflight, 0, baseline=doubted)
        )
        assert decision.mode == mode
        assert decision.placement == spill(both(pool(inflight), pool(0)), 5)
        assert not after.trusted
        assert after.changes == 1


@pytest.mark.parametrize(
    ("count", "seen", "mode"), [(40, 3.0, "no_evidence"), (40, 20.0, "adaptive"), (4, 1.0, "adaptive")]
)
def test_on_shared_hardware_the_load_does_not_stay_for_a_guess(count: int, seen: float, mode: str) -> None:
    """Of a pool that served few at once, a line through those says how it would be with forty."""
    steep = curve([(1, 205.0), (128, 1.6)], highest=seen)
    decision, _ = place(count - 1, 0, baseline=steep, shared_hardware=True)
    assert decision.mode == mode
    assert role(decision) == ("baseline" if mode == "no_evidence" else "speculative")


def test_trust_comes_back_later_than_it_went() -> None:
    doubtful = curve(TREE, spread=0.6)
    assert place(0, 0, speculative=doubtful)[0].mode == "adaptive"
    assert place(0, 0, speculative=doubtful, state=AdaptiveState())[0].mode == "contradicting"


def test_availability_goes_before_worth() -> None:
    tree, plain, settings = curve(TREE), curve(PLAIN), AdaptiveSettings(exploration=0.0)
    arrival = Arrival(NOW, 0.9)
    for load, placed in (
        (both(DOWN, IDLE), Choice("baseline", Reason.POOL_DOWN)),
        (both(FULL._replace(inflight=0), IDLE), Choice("baseline", Reason.OVERFLOW)),
        (both(None, IDLE), Choice("baseline", Reason.PINNED)),
    ):
        assert decide(load, tree, plain, AdaptiveState(trusted=True), settings, arrival)[0].placement == placed


@given(loads, st.booleans(), st.booleans(), st.floats(0, 1), st.floats(0, 0.999))
def test_it_places_wherever_there_is_room(load: Any, shared: bool, known: bool, weight: float, ticket: float) -> None:
    curves = (curve(TREE, weight), curve(PLAIN, weight)) if known else (UNKNOWN, UNKNOWN)
    settings = AdaptiveSettings(weight=weight, shared_hardware=shared)
    decision, after = decide(load, *curves, AdaptiveState(), settings, Arrival(NOW, ticket))
    if isinstance(decision.placement, Choice):
        chosen = load.pool(decision.placement.role)
        assert chosen is not None
        assert chosen.has_room
    else:
        assert not any(part and part.has_room for part in load)
        assert after == AdaptiveState()


def test_it_is_a_function() -> None:
    assert place(3, 4) == place(3, 4)
