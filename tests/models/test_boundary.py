"""The boundary with real pools: threshold - 1, threshold, threshold + 1, while replicas come and go."""

import pytest

from gateway.models import Ask
from gateway.routing import ROLES, Reason, Role
from tests.models.fleet import config, eject, fill, make, recover, take, where

UNDER = ("speculative", Reason.UNDER_THRESHOLD)
OVER = ("baseline", Reason.OVER_THRESHOLD)
DOWN = ("baseline", Reason.POOL_DOWN)


@pytest.mark.parametrize("threshold", [1, 5])
@pytest.mark.parametrize("ready", [0, 1, 3])
def test_the_limit_is_threshold_times_ready(threshold: int, ready: int) -> None:
    model = make(config(3, 1, threshold=threshold))
    pool = model.pools["speculative"]
    eject(pool, *list(pool.replicas.values())[ready:])
    ceiling = threshold * ready
    assert model.limit("speculative") == ceiling
    placed = [where(take(model)) for _ in range(ceiling + 2)]
    assert placed == [UNDER] * ceiling + [OVER if ready else DOWN] * 2
    assert pool.inflight == ceiling


def test_the_place_given_back_is_taken_again() -> None:
    """At the limit, one ended request lets exactly one more in."""
    model = make(config(threshold=5))
    grants = [take(model) for _ in range(6)]
    assert [where(grant) for grant in grants] == [UNDER] * 5 + [OVER]
    grants[2].lease.release()
    assert [where(take(model)) for _ in range(2)] == [UNDER, OVER]
    grants[5].lease.release()
    assert where(take(model)) == OVER, "room in the baseline pool does not move the boundary"


def test_replicas_come_and_go() -> None:
    """Each ready replica brings its share of the limit and takes it along when it goes."""
    model = make(config(3, 1, threshold=2))
    pool = model.pools["speculative"]
    first, second, third = pool.replicas.values()
    assert [where(take(model)) for _ in range(7)] == [UNDER] * 6 + [OVER]
    eject(pool, third)
    assert where(take(model)) == OVER, "six in flight, limit four"
    eject(pool, first, second)
    assert where(take(model)) == DOWN
    assert model.limit("speculative") == 0
    recover(pool, first, second, third)
    assert where(take(model)) == OVER, "six in flight, limit six"
    model.reconfigure(config(4, 1, threshold=2))
    assert where(take(model)) == OVER, "the fourth has not been probed yet"
    recover(pool, *pool.replicas.values())
    assert [where(take(model)) for _ in range(3)] == [UNDER, UNDER, OVER]


def test_requests_on_a_removed_replica_count_until_they_end() -> None:
    model = make(config([0, 1], 1, threshold=2))
    grants = [take(model) for _ in range(4)]
    gone, staying = model.pools["speculative"].replicas.values()
    kept = next(grant for grant in grants if grant.replica is staying)
    model.reconfigure(config([1], 1, threshold=2))
    assert model.limit("speculative") == 2
    assert where(take(model)) == OVER
    for grant in grants:
        if grant.replica is gone:
            assert where(take(model)) == OVER
            grant.lease.release()
    assert where(take(model)) == OVER
    kept.lease.release()
    assert where(take(model)) == UNDER


def test_a_reload_moves_the_threshold() -> None:
    model = make(config(threshold=3))
    assert [where(take(model)) for _ in range(4)] == [UNDER] * 3 + [OVER]
    model.reconfigure(config(threshold=5))
    assert [where(take(model)) for _ in range(3)] == [UNDER, UNDER, OVER]
    model.reconfigure(config(threshold=2))
    assert where(take(model)) == OVER


@pytest.mark.parametrize("role", ROLES)
def test_a_pinned_request_knows_no_boundary(role: Role) -> None:
    """It goes to its pool until that is full; what it holds there counts for the others."""
    model = make(config(threshold=2, max_inflight=4, allow_pinning=True))
    grants = fill(model, Ask(pinned=role))
    assert [where(grant) for grant in grants] == [(role, Reason.PINNED)] * 4
    expected = OVER if role == "speculative" else UNDER
    assert where(take(model)) == expected


def test_policy_pinned() -> None:
    model = make(config(kind="pinned", pool="speculative", max_inflight=3))
    grants = fill(model)
    assert [where(grant) for grant in grants] == [("speculative", Reason.PINNED)] * 3
    assert model.limit("speculative") == 3


def test_overflow_goes_beyond_the_threshold_only_when_the_baseline_is_full() -> None:
    model = make(config(threshold=2, max_inflight=3))
    placed = [where(grant) for grant in fill(model)]
    assert placed == [UNDER] * 2 + [OVER] * 3 + [("speculative", Reason.OVERFLOW)]
