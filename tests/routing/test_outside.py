"""What engines hold from elsewhere: it weighs like our own requests, and the reason says when it decided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.routing import (
    Choice,
    ModelLoad,
    PoolLoad,
    Reason,
    SwitchSettings,
    SwitchState,
    arrive,
    fail_over,
    least_inflight,
    settle,
    spill,
    switch,
)
from tests.routing.loads import FULL, IDLE, Engine, both, loads, pool

SETTINGS = SwitchSettings(threshold=5, resume_below=0.6, min_dwell=2.0)
SPECULATIVE = Choice("speculative", Reason.UNDER_THRESHOLD)
BASELINE = Choice("baseline", Reason.OVER_THRESHOLD)
BECAUSE_OF_ENGINES = Choice("baseline", Reason.ENGINE_LOAD)


def beside(load: PoolLoad, outside: int) -> PoolLoad:
    """The same pool with so many requests from elsewhere."""
    return load._replace(outside=outside)


def alone(load: ModelLoad) -> ModelLoad:
    """The same model without requests from elsewhere."""
    return ModelLoad(*(each and beside(each, 0) for each in load))


@pytest.mark.parametrize(
    ("ours", "outside", "expected"),
    [
        (0, 4, SPECULATIVE),
        (0, 5, BECAUSE_OF_ENGINES),
        (3, 1, SPECULATIVE),
        (3, 2, BECAUSE_OF_ENGINES),
        (4, 1, BECAUSE_OF_ENGINES),
        (5, 0, BASELINE),
        (5, 9, BASELINE),
    ],
)
def test_spill_counts_both(ours: int, outside: int, expected: Choice) -> None:
    assert spill(both(beside(pool(ours), outside), IDLE), 5) == expected


@pytest.mark.parametrize(
    ("ours", "outside", "expected"),
    [
        (3, 0, SPECULATIVE),
        (3, 9, SPECULATIVE),
        (4, 15, SPECULATIVE),
        (4, 16, BECAUSE_OF_ENGINES),
        (0, 20, BECAUSE_OF_ENGINES),
        (5, 0, BASELINE),
        (5, 20, BASELINE),
    ],
)
@pytest.mark.parametrize("mode", ["spill", "switch"])
def test_a_share_of_the_limit_is_compared_with_a_share_of_all(
    ours: int, outside: int, expected: Choice, mode: str
) -> None:
    """Four gateways that can't count together: what the other three hold shows in the engines, and may be there."""
    load = both(beside(pool(ours, 4), outside), IDLE)
    if mode == "spill":
        assert spill(load, 5, gateways=4) == expected
    else:
        state = arrive(SwitchState(), load, SETTINGS._replace(gateways=4), 0.0)
        assert switch(load, state) == expected


def test_outside_load_of_the_baseline_pool_changes_nothing_in_spill() -> None:
    assert spill(both(pool(4), beside(IDLE, 99)), 5) == SPECULATIVE


def test_it_takes_away_no_room() -> None:
    """A pool whose engine is busy for others is the second choice, and still a choice."""
    busy = beside(pool(1), 500)
    assert spill(both(busy, FULL), 5) == Choice("speculative", Reason.OVERFLOW)
    assert spill(both(busy, None), 5) == Choice("speculative", Reason.PINNED)


def test_a_retry_avoids_a_pool_that_engines_fill() -> None:
    busy = beside(pool(2), 3)
    for ceiling, role in ((6, "speculative"), (5, "baseline")):
        placed = fail_over(both(busy, IDLE), "speculative", pinned=False, ceiling=ceiling)
        assert placed == Choice("speculative" if role == "speculative" else "baseline", Reason.FAILOVER)


def test_switch_counts_both_pools() -> None:
    """Two of ours, and three from elsewhere in the baseline pool: together at the limit."""
    load = both(pool(2), beside(IDLE, 3))
    state = arrive(SwitchState(), load, SETTINGS, 0.0)
    assert state.high
    assert switch(load, state) == BECAUSE_OF_ENGINES


def test_switch_says_over_threshold_once_ours_alone_would_do() -> None:
    state = arrive(SwitchState(), both(pool(2), beside(IDLE, 3)), SETTINGS, 0.0)
    load = both(pool(5), beside(IDLE, 3))
    state = arrive(state, load, SETTINGS, 1.0)
    assert switch(load, state) == BASELINE


def test_what_outside_load_began_its_dwell_ends() -> None:
    """The load from elsewhere goes; the switch stays for its dwell, and until then it is what decides."""
    state = arrive(SwitchState(), both(pool(2), beside(IDLE, 3)), SETTINGS, 0.0)
    quiet = both(pool(2), IDLE)
    state = arrive(state, quiet, SETTINGS, 1.0)
    assert switch(quiet, state) == BECAUSE_OF_ENGINES
    state = arrive(state, quiet, SETTINGS, 3.0)
    assert state == SwitchState()


with_outside = st.builds(
    lambda load, more: ModelLoad(*(each and beside(each, extra) for each, extra in zip(load, more, strict=True))),
    loads,
    st.tuples(st.integers(0, 12), st.integers(0, 12)),
)


@given(with_outside, st.integers(1, 8))
def test_spill_gives_the_reason_exactly_where_it_mattered(load: ModelLoad, threshold: int) -> None:
    placed, otherwise = spill(load, threshold), spill(alone(load), threshold)
    if isinstance(placed, Choice) and placed.reason is Reason.ENGINE_LOAD:
        assert placed.role == "baseline"
        assert otherwise != placed
        assert isinstance(otherwise, Choice)
        assert otherwise.role == "speculative" or otherwise.reason is Reason.OVERFLOW
    elif isinstance(placed, Choice) and isinstance(otherwise, Choice):
        assert placed.role == otherwise.role
    else:
        assert placed == otherwise


@given(with_outside, st.integers(1, 8))
def test_whether_a_request_can_be_placed_does_not_depend_on_it(load: ModelLoad, threshold: int) -> None:
    assert isinstance(spill(load, threshold), Choice) == isinstance(spill(alone(load), threshold), Choice)


moves = st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 8), st.floats(0.0, 3.0)), max_size=30)


@given(moves, st.integers(1, 6), st.floats(0.05, 1.0), st.floats(0.0, 4.0), st.integers(1, 4))
def test_switch_keeps_what_it_would_do_alone(
    history: list[tuple[bool, int, int, float]], threshold: int, resume_below: float, min_dwell: float, gateways: int
) -> None:
    """Beside the state with outside load runs the one without, step by step, and it is never high by itself."""
    settings = SwitchSettings(threshold, resume_below, min_dwell, gateways)
    state = lone = SwitchState()
    now = 0.0
    for arrival, ours, outside, pause in history:
        now += pause
        load = both(beside(pool(ours), outside), IDLE)
        step = arrive if arrival else settle
        state, lone = step(state, load, settings, now), step(lone, alone(load), settings, now)
        assert (state.alone or state._replace(alone=None)) == lone
        assert state.high or not lone.high
        reason = {(True, True): Reason.OVER_THRESHOLD, (True, False): Reason.ENGINE_LOAD}.get((state.high, lone.high))
        placed = switch(load, state)
        assert isinstance(placed, Choice)
        assert placed.reason == (reason or Reason.UNDER_THRESHOLD)


def test_balancing_counts_both() -> None:
    replicas = [Engine("a", 1, inflight=1, outside=3), Engine("b", 2, inflight=3), Engine("c", 3, inflight=4)]
    for affinity in range(20):
        chosen = least_inflight(replicas, affinity)
        assert chosen is replicas[1]


def test_equal_sums_are_equals() -> None:
    replicas = [Engine("a", 7919, inflight=1, outside=2), Engine("b", 104729, inflight=3)]
    met = {chosen.name for key in range(50) if (chosen := least_inflight(replicas, key * 7)) is not None}
    assert met == {"a", "b"}
