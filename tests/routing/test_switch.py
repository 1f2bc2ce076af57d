"""Mode `switch`: all new requests move at the limit, and move back below the resume mark, after a while."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.routing import (
    Choice,
    ModelLoad,
    PoolLoad,
    Reason,
    Refusal,
    SwitchSettings,
    SwitchState,
    arrive,
    limit,
    settle,
    switch,
)
from tests.routing.loads import DOWN, FULL, IDLE, both, loads, pool

SETTINGS = SwitchSettings(threshold=5, resume_below=0.6, min_dwell=2.0)
LOW, HIGH = SwitchState(), SwitchState(high=True)


def total(speculative: int, baseline: int = 0, ready: int = 1) -> ModelLoad:
    return both(pool(speculative, ready), pool(baseline))


@pytest.mark.parametrize("ready", [1, 3])
def test_the_boundary_is_the_models_total(ready: int) -> None:
    """At limit - 1 the newcomer goes to the speculative pool, at the limit and beyond it does not."""
    ceiling = 5 * ready
    for inflight in range(ceiling + 3):
        for speculative in {0, inflight // 2, inflight}:
            load = total(speculative, inflight - speculative, ready)
            state = arrive(LOW, load, SETTINGS, 0.0)
            assert state.high == (inflight >= ceiling)
            over, under = Choice("baseline", Reason.OVER_THRESHOLD), Choice("speculative", Reason.UNDER_THRESHOLD)
            assert switch(load, state) == (over if state.high else under)


def test_once_high_it_stays_until_the_resume_mark() -> None:
    """0.6 of five is three: at three the total has not fallen below."""
    assert arrive(HIGH, total(0, 4), SETTINGS, 10.0) == HIGH
    assert settle(HIGH, total(0, 3), SETTINGS, 10.0) == HIGH
    assert settle(HIGH, total(0, 2), SETTINGS, 10.0) == SwitchState(high=True, below_since=10.0)


def test_the_dwell_is_waited_for() -> None:
    state = settle(HIGH, total(0, 2), SETTINGS, 10.0)
    assert arrive(state, total(0, 1), SETTINGS, 11.999) == state
    assert arrive(state, total(0, 1), SETTINGS, 12.0) == LOW


def test_the_dwell_starts_again_after_a_rise() -> None:
    state = settle(HIGH, total(0, 2), SETTINGS, 10.0)
    state = settle(state, total(0, 3), SETTINGS, 11.0)
    assert state == HIGH
    state = settle(state, total(0, 2), SETTINGS, 11.5)
    assert settle(state, total(0, 0), SETTINGS, 13.0).high
    assert settle(state, total(0, 0), SETTINGS, 13.5) == LOW


def test_without_dwell_it_resumes_at_once() -> None:
    assert settle(HIGH, total(0, 2), SETTINGS._replace(min_dwell=0.0), 10.0) == LOW


def test_a_ready_replica_more_raises_the_marks() -> None:
    """Eight in flight are over one replica's limit and below the resume mark of three."""
    state = arrive(LOW, total(8), SETTINGS, 0.0)
    assert state.high
    state = settle(state, total(8, ready=3), SETTINGS, 1.0)
    assert settle(state, total(8, ready=3), SETTINGS, 3.0) == LOW


def test_without_speculative_replicas_there_is_no_limit() -> None:
    """Requests go to the baseline pool because the other is down, and the state waits for its return."""
    load = both(DOWN, pool(50))
    for state in (LOW, HIGH, SwitchState(high=True, below_since=1.0)):
        assert arrive(state, load, SETTINGS, 100.0) == state
        assert switch(load, state) == Choice("baseline", Reason.POOL_DOWN)


def test_availability_before_preference() -> None:
    assert switch(both(IDLE, DOWN), HIGH) == Choice("speculative", Reason.POOL_DOWN)
    assert switch(both(pool(3), FULL), HIGH) == Choice("speculative", Reason.OVERFLOW)
    assert switch(both(FULL, IDLE), LOW) == Choice("baseline", Reason.OVERFLOW)
    assert switch(both(FULL, FULL), HIGH) is Refusal.FULL
    assert switch(both(DOWN, DOWN), LOW) is Refusal.DOWN


@pytest.mark.parametrize("state", [LOW, HIGH])
def test_a_model_with_one_pool_is_pinned_to_it(state: SwitchState) -> None:
    assert switch(both(pool(99), None), state) == Choice("speculative", Reason.PINNED)
    assert switch(both(None, pool(99)), state) == Choice("baseline", Reason.PINNED)
    assert switch(both(None, DOWN), state) is Refusal.DOWN


@given(loads, st.booleans())
def test_a_choice_can_be_kept(load: ModelLoad, high: bool) -> None:
    placed = switch(load, SwitchState(high=high))
    if isinstance(placed, Choice):
        chosen = load.pool(placed.role)
        assert chosen is not None
        assert chosen.has_room
        if high and load.speculative and load.baseline and load.baseline.has_room:
            assert placed.role == "baseline"
    else:
        assert not any(each.has_room for each in load if each)


steps = st.lists(st.tuples(st.integers(0, 20), st.floats(0.0, 5.0)), max_size=30)


@given(steps, st.integers(1, 6), st.floats(0.05, 1.0), st.floats(0.0, 4.0))
def test_low_only_after_the_whole_dwell(
    history: list[tuple[int, float]], threshold: int, resume_below: float, min_dwell: float
) -> None:
    """Whatever the total does: high begins at the limit, and ends only after min_dwell below the mark without a break.

    The total is what it was since the step before, as `settle` is called at every change.
    """
    settings = SwitchSettings(threshold, resume_below, min_dwell)
    state, now, quiet_since = LOW, 0.0, 0.0
    for inflight, pause in history:
        now += pause
        load = both(PoolLoad(inflight, 1, available=True, has_room=True), IDLE)
        ceiling = limit(load, threshold)
        if inflight >= resume_below * ceiling:
            quiet_since = float("inf")
        elif quiet_since == float("inf"):
            quiet_since = now
        before, state = state, arrive(state, load, settings, now)
        if before.high and not state.high:
            assert now - quiet_since >= min_dwell
        if not before.high:
            assert state.high == (inflight >= ceiling)
        elif now - quiet_since >= min_dwell and quiet_since != float("inf"):
            assert not state.high
