"""Who waits for room, who is refused, and who gets the place that comes free."""

import pytest

from gateway.load import QueueFullError, Ticket
from gateway.models import Ask, Grant, Model
from gateway.routing import Reason, Refusal
from tests.models.fleet import config, eject, fill, make, recover, take, where


def wait(model: Model, woken: list[str], name: str, ask: Ask | None = None) -> Ticket[Grant]:
    """Queue up; the name is noted when the place has come."""
    ask = ask or Ask()
    assert model.admit(ask) is Refusal.FULL
    return model.wait(ask, lambda: woken.append(name))


def test_full_pools_make_requests_wait_in_line() -> None:
    model, woken = make(config(threshold=1, max_inflight=1)), list[str]()
    speculative, baseline = fill(model)
    first, second = wait(model, woken, "first"), wait(model, woken, "second")
    baseline.lease.release()
    assert woken == ["first"]
    assert first.grant is not None
    assert where(first.grant) == ("baseline", Reason.OVER_THRESHOLD)
    speculative.lease.release()
    assert woken == ["first", "second"]
    assert second.grant is not None
    assert where(second.grant) == ("speculative", Reason.UNDER_THRESHOLD)


def test_nobody_overtakes() -> None:
    model, woken = make(config(threshold=1, max_inflight=1, baseline=None)), list[str]()
    [held] = fill(model)
    waiting = wait(model, woken, "first")
    held.lease.release()
    assert model.admit(Ask()) is Refusal.FULL, "the place is the first one's"
    grant = waiting.leave()
    assert grant is not None
    grant.lease.release()
    assert where(take(model)) == ("speculative", Reason.PINNED)


def test_a_pinned_request_waits_for_its_pool_alone() -> None:
    model, woken = make(config(threshold=1, max_inflight=1, allow_pinning=True)), list[str]()
    speculative, baseline = fill(model)
    wait(model, woken, "pinned", Ask(pinned="speculative"))
    wait(model, woken, "any")
    baseline.lease.release()
    assert woken == ["any"]
    speculative.lease.release()
    assert woken == ["any", "pinned"]


@pytest.mark.parametrize("size", [0, 2])
def test_the_line_is_bounded(size: int) -> None:
    model = make(config(threshold=1, max_inflight=1, queue=size))
    fill(model)
    for _ in range(size):
        model.wait(Ask(), lambda: None)
    with pytest.raises(QueueFullError):
        model.wait(Ask(), lambda: None)


def test_a_reload_can_shorten_the_line() -> None:
    """Those who wait stay."""
    model, woken = make(config(threshold=1, max_inflight=1, queue=2)), list[str]()
    held = fill(model)
    wait(model, woken, "a")
    wait(model, woken, "b")
    model.reconfigure(config(threshold=1, max_inflight=1, queue=1))
    with pytest.raises(QueueFullError):
        model.wait(Ask(), lambda: None)
    for grant in held:
        grant.lease.release()
    assert woken == ["a", "b"]


def test_room_from_a_reload_a_recovery_and_a_new_replica() -> None:
    model, woken = make(config(1, None, threshold=1, max_inflight=1)), list[str]()
    pool = model.pools["speculative"]
    fill(model)
    for name in "abc":
        wait(model, woken, name)
    model.reconfigure(config(1, None, threshold=1, max_inflight=2))
    assert woken == ["a"]
    model.reconfigure(config(2, None, threshold=1, max_inflight=2))
    assert woken == ["a"]
    recover(pool, *pool.replicas.values())
    assert woken == ["a", "b", "c"]


def test_a_pool_that_comes_up_serves_who_waits() -> None:
    model, woken = make(config(threshold=1, max_inflight=1)), list[str]()
    pool = model.pools["baseline"]
    eject(pool, *pool.replicas.values())
    fill(model)
    wait(model, woken, "a")
    recover(pool, *pool.replicas.values())
    assert woken == ["a"]


def test_a_refusal_says_whether_waiting_helps() -> None:
    model = make(config(threshold=1, max_inflight=1))
    assert model.serves()
    for pool in model.pools.values():
        eject(pool, *pool.replicas.values())
    assert model.admit(Ask()) is Refusal.DOWN
    assert not model.serves()


def test_a_retry_goes_to_another_replica_first_then_to_the_other_pool() -> None:
    model = make(config(2, 1, threshold=5))
    first = take(model)
    onward = Ask(failed="speculative", tried=(first.replica,))
    assert model.could_admit(onward)
    first.lease.release()
    second = take(model, onward)
    assert where(second) == ("speculative", Reason.FAILOVER)
    assert second.replica is not first.replica
    further = onward._replace(tried=(first.replica, second.replica))
    assert where(take(model, further)) == ("baseline", Reason.FAILOVER)


def test_a_retry_does_not_wait_behind_others() -> None:
    """Its client has waited already, and a place that the others cannot use is its own to take."""
    model, woken = make(config(2, None, max_inflight=1, threshold=1)), list[str]()
    held = fill(model)
    wait(model, woken, "a")
    assert not model.could_admit(Ask(failed="speculative", tried=(held[0].replica,)))
    held[0].lease.release()
    held[1].lease.release()
    assert woken == ["a"]
    assert where(take(model, Ask(failed="speculative"))) == ("speculative", Reason.FAILOVER)


def test_a_retry_respects_the_limit() -> None:
    """The replicas that are left do not take over what the failed one held beyond their own share."""
    model = make(config(2, 1, threshold=2))
    grants = [take(model) for _ in range(4)]
    pool, failed = model.pools["speculative"], grants[0].replica
    eject(pool, failed)
    for grant in [grant for grant in grants if grant.replica is failed]:
        grant.lease.release()
        assert where(take(model, Ask(failed="speculative", tried=(failed,)))) == ("baseline", Reason.FAILOVER)
    assert pool.inflight == model.limit("speculative") == 2
