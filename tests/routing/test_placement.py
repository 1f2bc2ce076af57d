"""Pinning, and where a request goes after an attempt has failed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.routing import ROLES, Choice, ModelLoad, Placement, PoolLoad, Reason, Refusal, Role, fail_over, other, pin
from tests.routing.loads import DOWN, FULL, IDLE, TRIED, both, loads, pool

roles = st.sampled_from(ROLES)


def test_the_other_role() -> None:
    assert other("speculative") == "baseline"
    assert other("baseline") == "speculative"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("own", "expected"), [(pool(99), Reason.PINNED), (FULL, Refusal.FULL), (DOWN, Refusal.DOWN), (None, Refusal.DOWN)]
)
def test_pinned_goes_nowhere_else(role: Role, own: PoolLoad | None, expected: Reason | Refusal) -> None:
    load = both(own, IDLE) if role == "speculative" else both(IDLE, own)
    assert pin(load, role) == (Choice(role, expected) if isinstance(expected, Reason) else expected)


@pytest.mark.parametrize(
    ("same", "second", "expected"),
    [
        (IDLE, IDLE, "same"),
        (IDLE, None, "same"),
        (FULL, IDLE, "second"),
        (TRIED, IDLE, "second"),
        (DOWN, IDLE, "second"),
        (TRIED, FULL, Refusal.FULL),
        (FULL, DOWN, Refusal.FULL),
        (TRIED, DOWN, Refusal.DOWN),
        (TRIED, None, Refusal.DOWN),
    ],
)
@pytest.mark.parametrize("role", ROLES)
def test_fail_over_tries_the_same_pool_first(
    role: Role, same: PoolLoad, second: PoolLoad | None, expected: str | Refusal
) -> None:
    load = both(same, second) if role == "speculative" else both(second, same)
    chosen = {"same": role, "second": other(role)}
    wanted: Placement = expected if isinstance(expected, Refusal) else Choice(chosen[expected], Reason.FAILOVER)
    assert fail_over(load, role, pinned=False) == wanted


def test_fail_over_of_a_pinned_request_stays() -> None:
    assert fail_over(both(IDLE, IDLE), "speculative", pinned=True) == Choice("speculative", Reason.FAILOVER)
    assert fail_over(both(TRIED, IDLE), "speculative", pinned=True) is Refusal.DOWN
    assert fail_over(both(FULL, IDLE), "speculative", pinned=True) is Refusal.FULL


@pytest.mark.parametrize(("inflight", "role"), [(4, "speculative"), (5, "baseline"), (6, "baseline")])
def test_a_pool_at_its_ceiling_comes_second(inflight: int, role: Role) -> None:
    load = both(pool(inflight), IDLE)
    assert fail_over(load, "speculative", pinned=False, ceiling=5) == Choice(role, Reason.FAILOVER)


def test_a_pool_at_its_ceiling_still_comes_before_none() -> None:
    for second in (FULL, DOWN, None):
        placed = fail_over(both(pool(9), second), "speculative", pinned=False, ceiling=5)
        assert placed == Choice("speculative", Reason.FAILOVER)


@given(loads, roles, st.booleans(), st.none() | st.integers(0, 20))
def test_fail_over_finds_room_where_there_is_some(
    load: ModelLoad, role: Role, pinned: bool, ceiling: int | None
) -> None:
    placed = fail_over(load, role, pinned=pinned, ceiling=ceiling)
    allowed = [load.pool(role)] if pinned else list(load)
    if isinstance(placed, Choice):
        chosen = load.pool(placed.role)
        assert chosen in allowed
        assert chosen is not None
        assert chosen.has_room
        assert placed.reason is Reason.FAILOVER
    else:
        assert not any(each.has_room for each in allowed if each)
        assert (placed is Refusal.FULL) == any(each.available for each in allowed if each)
