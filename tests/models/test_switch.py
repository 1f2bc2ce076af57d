"""Mode `switch` with real pools and a clock."""

from gateway.routing import Reason
from tests.models.fleet import Clock, config, eject, make, recover, take, where

UNDER = ("speculative", Reason.UNDER_THRESHOLD)
OVER = ("baseline", Reason.OVER_THRESHOLD)


def test_all_new_requests_move_at_the_limit() -> None:
    clock = Clock()
    model = make(config(mode="switch", threshold=5, min_dwell=2.0), clock)
    grants = [take(model) for _ in range(7)]
    assert [where(grant) for grant in grants] == [UNDER] * 5 + [OVER] * 2
    assert model.high
    for grant in grants[:4]:
        grant.lease.release()
    assert where(take(model)) == OVER, "three in flight are not below 0.6 of five"


def test_it_resumes_after_the_dwell() -> None:
    clock = Clock()
    model = make(config(mode="switch", threshold=5, min_dwell=2.0), clock)
    grants = [take(model) for _ in range(6)]
    for grant in grants[1:]:
        grant.lease.release()
    clock.now += 1.9
    late = take(model)
    assert where(late) == OVER
    clock.now += 0.1
    assert where(take(model)) == UNDER
    assert not model.high


def test_a_total_that_keeps_touching_the_mark_does_not_resume() -> None:
    """Two in flight is below 0.6 of five and three is not; the newcomer that makes it three starts the dwell anew."""
    clock = Clock()
    model = make(config(mode="switch", threshold=5, min_dwell=2.0), clock)
    grants = [take(model) for _ in range(6)]
    while len(grants) > 2:
        grants.pop().lease.release()
    for _ in range(10):
        third = take(model)
        assert where(third) == OVER
        clock.now += 0.5
        third.lease.release()


def test_recovered_replicas_raise_the_limit() -> None:
    clock = Clock()
    model = make(config(3, 1, mode="switch", threshold=4, min_dwell=0.0), clock)
    pool = model.pools["speculative"]
    eject(pool, *list(pool.replicas.values())[1:], now=clock.now)
    assert [where(take(model)) for _ in range(6)] == [UNDER] * 4 + [OVER] * 2
    clock.now += 100
    recover(pool, *pool.replicas.values(), now=clock.now)
    assert not model.high, "six of twelve is below the mark of 7.2"
    assert where(take(model)) == UNDER


def test_down_and_back() -> None:
    """Without a speculative replica requests go to the baseline pool, and no longer once one is back."""
    clock = Clock()
    model = make(config(mode="switch", threshold=5), clock)
    pool = model.pools["speculative"]
    eject(pool, *pool.replicas.values(), now=clock.now)
    grants = [take(model) for _ in range(8)]
    assert {where(grant) for grant in grants} == {("baseline", Reason.POOL_DOWN)}
    assert not model.high
    clock.now += 100
    recover(pool, *pool.replicas.values(), now=clock.now)
    assert where(take(model)) == OVER, "eight are in flight"


def test_a_reload_to_spill_forgets_the_switch() -> None:
    clock = Clock()
    model = make(config(mode="switch", threshold=2), clock)
    grants = [take(model) for _ in range(4)]
    model.reconfigure(config(mode="spill", threshold=3))
    assert where(take(model)) == UNDER
    for grant in grants:
        grant.lease.release()
