"""The division is shifted to and fro under load: a little, at a bounded cost, among counts that are known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import exact_curve
from gateway.routing import NODES, AdaptiveSettings, AdaptiveState, Arrival, Choice, Curve, decide
from gateway.routing.grid import index
from gateway.routing.nudge import Nudge, go_on, size
from tests.routing.loads import both, pool

# Speeds as of a smooth engine: a step takes a fixed time and some for each request.
DRAFTING = [(count, 1.0 / (0.0030 + 0.00035 * count)) for count in NODES[:32]]
PLAIN = [(count, 1.0 / (0.0050 + 0.00008 * count)) for count in NODES[:32]]


def divisions(total: int, weight: float = 1.0, *, baseline: Curve | None = None, **settings: Any) -> list[int]:
    """What the speculative pool holds of so many requests at once, after each of many that end in turn."""
    made = AdaptiveSettings(weight=weight, **settings)
    fast = exact_curve(DRAFTING, weight)._replace(output=200.0)
    plain = baseline or exact_curve(PLAIN, weight)
    state, held, seen, now = AdaptiveState(), [0, 0], [], 0.0
    for number in range(60 * total):
        now += 400.0 / total / 60.0
        if sum(held) == total:
            # The longest there is goes; as many of each pool's as it holds.
            held[number * held[0] // total == (number + 1) * held[0] // total] -= 1
        decision, state = decide(both(pool(held[0]), pool(held[1])), fast, plain, state, made, Arrival(now, 0.9))
        assert isinstance(decision.placement, Choice)
        held[decision.placement.role == "baseline"] += 1
        seen.append(held[0])
    return seen[10 * total :]


def worth(fast: int, total: int) -> float:
    def sums(points: list[tuple[int, float]], count: int) -> float:
        return count * exact_curve(points, 1.0).rate(count) if count else 0.0

    return sums(DRAFTING, fast) + sums(PLAIN, total - fast)


@pytest.mark.parametrize("total", [12, 40, 150])
def test_the_division_goes_to_and_fro_about_the_best(total: int) -> None:
    still, moving = set(divisions(total, exploration=0.0)), divisions(total)
    assert min(moving) < min(still)
    assert max(moving) > max(still)


@pytest.mark.parametrize("total", [12, 40, 150])
def test_it_costs_less_than_the_share_for_exploration(total: int) -> None:
    moving = divisions(total)
    still = divisions(total, exploration=0.0)
    before = sum(worth(held, total) for held in still) / len(still)
    assert sum(worth(held, total) for held in moving) / len(moving) > 0.99 * before


def test_it_goes_on_where_more_than_half_of_the_capacity_is_in_use() -> None:
    assert len(set(divisions(150, capacity=(100, 100)))) > len(set(divisions(150, exploration=0.0)))


def test_an_unknown_count_is_not_looked_into() -> None:
    plain = exact_curve(PLAIN, 1.0)
    best = 40 - min(divisions(40, exploration=0.0))
    known = tuple(1e9 if node <= index(best) and NODES[index(best)] >= node else 0.0 for node in NODES)
    held = divisions(40, baseline=plain._replace(known=known), capacity=(30, 30))
    assert min(held) >= 40 - max(best, max(node for node, much in zip(NODES, known, strict=True) if much)) - 1


@given(st.floats(0, 1e6), st.floats(0, 1e4), st.integers(0, 3), st.floats(0, 0.05), st.floats(0.001, 1))
def test_a_turn_lasts_as_long_as_requests_do_and_a_rest_as_it_cost(
    now: float, seconds: float, turn: int, cost: float, share: float
) -> None:
    state = go_on(Nudge(turn, now, cost), now, seconds, share)
    assert state.turn == (turn + 1) % 4
    assert 3.9 <= state.until - now <= 120.1 * max(cost / share, 1)
    assert state.until - now >= 3.9 * cost / share
    assert go_on(state, now, seconds, share) is state


@given(st.integers(1, 4096), st.integers(1, 4096), st.floats(0, 1e4), st.floats(0, 1e6))
def test_a_shift_is_small_and_costs_little(ahead: int, behind: int, lost: float, whole: float) -> None:
    by = size((ahead, behind), lost, whole)
    assert 0 <= by <= max(1, 0.1 * max(ahead, behind))
    assert by * lost <= 0.05 * whole * (1 + 1e-9)


def test_both_directions_come_equally_often() -> None:
    state, turns = Nudge(), []
    for number in range(4000):
        state = go_on(state, float(number), 5.0, 0.01)
        turns.append(state.by)
    assert sum(turns) == pytest.approx(0, abs=20)
    assert turns.count(0) == pytest.approx(2000, abs=40)
