"""Mode `spill`: the boundary, who takes over when a pool is down or full, and models with one pool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.routing import Choice, ModelLoad, Placement, PoolLoad, Reason, Refusal, limit, spill
from tests.routing.loads import DOWN, FULL, IDLE, TRIED, both, loads, pool

SPECULATIVE = Choice("speculative", Reason.UNDER_THRESHOLD)
BASELINE = Choice("baseline", Reason.OVER_THRESHOLD)
INSTEAD = Choice("baseline", Reason.POOL_DOWN)


@pytest.mark.parametrize("threshold", [1, 2, 5, 40])
@pytest.mark.parametrize("ready", [1, 3])
def test_the_boundary(threshold: int, ready: int) -> None:
    """Of a limit of five the fifth request goes to the speculative pool and the sixth does not."""
    ceiling = threshold * ready
    placed = [spill(both(pool(inflight, ready), IDLE), threshold) for inflight in range(ceiling + 3)]
    assert placed == [SPECULATIVE] * ceiling + [BASELINE] * 3


@pytest.mark.parametrize("inflight", [4, 5, 6])
def test_no_ready_replica(inflight: int) -> None:
    """What still runs on replicas that drain does not matter: nobody there takes a new request."""
    assert spill(both(pool(inflight, 0), IDLE), 5) == INSTEAD


def test_the_limit_follows_the_replicas() -> None:
    """Fourteen in flight are under the limit with three replicas, over it with two or one, and again under it."""
    roles = [spill(both(pool(14, ready), IDLE), 5) for ready in (3, 2, 1, 0, 1, 3)]
    assert roles == [SPECULATIVE, BASELINE, BASELINE, INSTEAD, BASELINE, SPECULATIVE]


def test_draining_replicas_count_against_the_limit() -> None:
    """Their requests are load of the pool as long as they run."""
    on_ready, on_draining = 2, 3
    assert spill(both(pool(on_ready + on_draining, 1), IDLE), 5) == BASELINE


@pytest.mark.parametrize(
    ("speculative", "baseline", "expected"),
    [
        (pool(4), DOWN, SPECULATIVE),
        (pool(9), DOWN, Choice("speculative", Reason.POOL_DOWN)),
        (pool(9), FULL, Choice("speculative", Reason.OVERFLOW)),
        (PoolLoad(4, 1, available=True, has_room=False), IDLE, Choice("baseline", Reason.OVERFLOW)),
        (DOWN, IDLE, INSTEAD),
        (TRIED, IDLE, INSTEAD),
        (FULL, FULL, Refusal.FULL),
        (FULL, DOWN, Refusal.FULL),
        (DOWN, FULL, Refusal.FULL),
        (DOWN, DOWN, Refusal.DOWN),
        (TRIED, TRIED, Refusal.DOWN),
    ],
)
def test_availability_before_preference(speculative: PoolLoad, baseline: PoolLoad, expected: Placement) -> None:
    assert spill(both(speculative, baseline), 5) == expected


@pytest.mark.parametrize("role", ["speculative", "baseline"])
def test_a_model_with_one_pool_is_pinned_to_it(role: str) -> None:
    """Whatever the load; the threshold says nothing where there is no other pool."""
    for load, expected in (
        (IDLE, Reason.PINNED),
        (pool(50), Reason.PINNED),
        (FULL, Refusal.FULL),
        (DOWN, Refusal.DOWN),
    ):
        placed = spill(ModelLoad(**{"speculative": None, "baseline": None, role: load}), 5)
        assert (placed.reason if isinstance(placed, Choice) else placed) == expected
        if isinstance(placed, Choice):
            assert placed.role == role


@given(loads, st.integers(1, 8))
def test_a_choice_can_be_kept(load: ModelLoad, threshold: int) -> None:
    """A chosen pool has room for the request; by choice the speculative one is chosen only below its limit."""
    placed = spill(load, threshold)
    if isinstance(placed, Choice):
        chosen = load.pool(placed.role)
        assert chosen is not None
        assert chosen.has_room
        assert chosen.ready
        if placed == SPECULATIVE:
            assert chosen.inflight < limit(load, threshold)
    else:
        assert not any(each.has_room for each in load if each)
        assert (placed is Refusal.FULL) == any(each.available for each in load if each)


@given(loads, st.integers(1, 8))
def test_the_preferred_pool_is_used_when_it_can_be(load: ModelLoad, threshold: int) -> None:
    """The other pool serves only while the preferred one is full or down, and the reason says which."""
    if load.speculative is None or load.baseline is None:
        return
    under = load.speculative.inflight < limit(load, threshold)
    preferred, role = (load.speculative, "speculative") if under else (load.baseline, "baseline")
    placed = spill(load, threshold)
    if isinstance(placed, Choice) and load.speculative.available:
        if preferred.has_room:
            assert placed.role == role
        else:
            assert placed.role != role
            assert placed.reason is (Reason.OVERFLOW if preferred.available else Reason.POOL_DOWN)
