"""Exploration is bounded: in number, by load, and by what is fresh."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import exact_curve
from gateway.routing import NODES, UNKNOWN, AdaptiveSettings, AdaptiveState, Arrival, Curve, decide
from gateway.routing.explore import BURST, LONGEST, Budget
from tests.routing.loads import both, pool

TREE, PLAIN = [(1, 240.0), (10, 171.7), (128, 21.6)], [(1, 205.0), (10, 176.5), (128, 80.5)]


def explored(
    speculative: Curve,
    baseline: Curve,
    requests: list[tuple[float, int, int, float]],
    *,
    begun: AdaptiveState | None = None,
    **settings: Any,
) -> int:
    """How many of these (seconds since the last, in-flight in both pools, ticket) are sent to explore."""
    state, made, now, count = begun or AdaptiveState(), AdaptiveSettings(**settings), 1000.0, 0
    for since, fast, plain, ticket in requests:
        now += since
        load = both(pool(fast), pool(plain))
        decision, state = decide(load, speculative, baseline, state, made, Arrival(now, ticket))
        count += decision.mode == "exploring"
    return count


requests = st.lists(
    st.tuples(st.floats(0, 100), st.integers(0, 130), st.integers(0, 130), st.floats(0, 0.999)), max_size=300
)
curves = st.sampled_from(
    [
        UNKNOWN,
        exact_curve(TREE, 0.5, 900.0),
        exact_curve(PLAIN, 0.5)._replace(known=(0.0,) * 44),
        exact_curve(PLAIN, 1.0),
    ]
)


@given(curves, curves, requests, st.booleans(), st.sampled_from([0.01, 0.1]))
def test_never_more_than_the_budget(
    speculative: Curve, baseline: Curve, asked: list[tuple[float, int, int, float]], shared: bool, share: float
) -> None:
    count = explored(speculative, baseline, asked, shared_hardware=shared, exploration=share)
    assert count <= BURST + LONGEST + share * len(asked)


def test_in_the_long_run_the_share_is_kept() -> None:
    stale = exact_curve(TREE, 0.5, 0.0)
    fresh = exact_curve(PLAIN, 0.5)
    asked = [(0.1, 5, 0, 0.1)] * 20_000
    count = explored(stale, fresh, asked, stale_seconds=1e9)
    assert 0.005 * len(asked) <= count <= 0.01 * len(asked) + BURST + LONGEST


def test_an_exploration_that_told_nothing_is_made_again_soon() -> None:
    """One answer of a few tokens, and nobody would look for a hundred requests more; but not without end."""
    plain, asked = exact_curve(PLAIN, 1.0), [(1.0, 0, 0, 0.1)] * 60
    asleep = exact_curve([(count, rate / 1.2) for count, rate in PLAIN], 1.0, 0.0)._replace(requests=9.0)
    begun, told = AdaptiveState(Budget(1.0)), asleep._replace(newest=1001.5)
    kept: dict[str, Any] = {"stale_seconds": 1e9, "fresh_seconds": 1e6, "begun": begun}
    assert explored(told, plain, asked, **kept) == 0
    kept["fresh_seconds"] = 15.0
    assert explored(asleep, plain, asked, **kept) == 1 + BURST
    assert explored(asleep, plain, [(1.0, 1, 0, 0.1)] * 60, **kept) == 1


def test_on_shared_hardware_a_trial_does_not_keep_all_others_away() -> None:
    """Forty at one request in two seconds are paid for after two hours; every quarter of one, one looks meanwhile."""
    used, other = exact_curve(TREE, 1.0), exact_curve(PLAIN, 1.0, 900.0)
    kept: dict[str, Any] = {"begun": AdaptiveState(Budget(-40.0, 1000.0), trusted=True), "shared_hardware": True}
    assert explored(used, other, [(2.0, 4, 0, 0.1)] * 400, **kept) == 0
    assert explored(used, other, [(2.0, 4, 0, 0.1)] * 1400, **kept) == 3


def test_a_pool_that_is_many_times_slower_is_looked_at_the_less_often() -> None:
    """In the mean what all the looks lose is the share; the pool is never given up for good."""
    fresh, asked = exact_curve(PLAIN, 1.0), [(0.1, 0, 0, 0.1)] * 100_000
    counts = []
    for times in (1.5, 8.0, 1000.0):
        stale = exact_curve([(count, rate / times) for count, rate in PLAIN], 1.0, 0.0)
        counts.append(explored(stale, fresh, asked, stale_seconds=1e9, weight=1.0))
    assert counts[0] == pytest.approx(1000, rel=0.02)
    assert counts[1] == pytest.approx(1000 / 7, rel=0.05)
    assert counts[2] == pytest.approx(1000 / 64, abs=2)


def test_little_evidence_from_long_ago_does_not_keep_requests_away_for_good() -> None:
    known = [1.0] * 44
    known[0] = 1000.0
    plain = exact_curve(PLAIN, 0.5)._replace(known=tuple(known))
    assert explored(exact_curve(TREE, 0.5), plain, [(10.0, 2, 0, 0.1)] * 10) >= 4


def test_none_where_the_evidence_is_fresh() -> None:
    assert explored(exact_curve(TREE, 0.5), exact_curve(PLAIN, 0.5), [(10.0, 2, 2, 0.1)] * 500) == 0


def test_none_above_half_of_the_capacity() -> None:
    assert explored(UNKNOWN, UNKNOWN, [(10.0, 70, 70, 0.1)] * 500) == 0
    assert explored(UNKNOWN, UNKNOWN, [(10.0, 4, 70, 0.1)] * 500) == 0


def test_none_where_it_is_switched_off() -> None:
    assert explored(UNKNOWN, UNKNOWN, [(10.0, 2, 0, 0.1)] * 500, exploration=0.0) == 0


def test_the_other_pool_is_looked_at_soon_after_the_start() -> None:
    assert explored(UNKNOWN, UNKNOWN, [(1.0, 1, 0, 0.9)] * 30) == BURST


def test_a_trial_goes_on_when_the_policys_own_choices_come_between() -> None:
    known = tuple(1000.0 if node <= 12 else 0.0 for node in NODES)
    plain = exact_curve(PLAIN, 1.0)._replace(known=known)
    # A fourth request in the speculative pool is worth it; a tenth is not.
    asked = [(5.0, 3, 11, 0.1), (0.1, 9, 12, 0.1), (0.1, 3, 12, 0.1), (0.1, 9, 13, 0.1), (0.1, 3, 13, 0.1)]
    assert explored(exact_curve(TREE, 1.0), plain, asked) == 3


def test_a_count_that_all_there_are_do_not_make_is_not_tried() -> None:
    """Eight clients: the pool that holds five of them will not hold ten, however many are sent there."""
    known = tuple(1000.0 if node <= 8 else 0.0 for node in NODES)
    tree, plain = (exact_curve(points, 1.0)._replace(known=known) for points in (TREE, PLAIN))
    assert explored(tree, plain, [(10.0, 5, 2, 0.1)] * 500) == 0
    assert explored(tree, plain, [(10.0, 9, 5, 0.1)] * 500) > 0
