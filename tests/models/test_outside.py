"""A model whose engines hold requests from elsewhere, as its pools were told."""

from collections import Counter

from gateway.engines import Reading
from gateway.models import Model
from gateway.pools import EngineLoad
from gateway.routing import Reason, Refusal
from tests.models import fleet


def tell(model: Model, role: str, *outside: int) -> None:
    """Each ready replica of the pool, in the order of its URLs, holds so many from elsewhere."""
    (pool,) = (pool for pool in model.pools.values() if pool.role == role)
    for replica, count in zip(pool.replicas.values(), outside, strict=True):
        pool.found_outside(replica, count)


def test_it_counts_against_the_limit() -> None:
    model = fleet.make(fleet.config(threshold=5))
    tell(model, "speculative", 3)
    placed = [fleet.where(fleet.take(model)) for _ in range(3)]
    assert placed == [("speculative", Reason.UNDER_THRESHOLD)] * 2 + [("baseline", Reason.ENGINE_LOAD)]
    tell(model, "speculative", 0)
    assert fleet.where(fleet.take(model)) == ("speculative", Reason.UNDER_THRESHOLD)


def test_the_limit_itself_stays() -> None:
    """It says how many requests are wanted there at most, whosever they are."""
    model = fleet.make(fleet.config(threshold=5))
    tell(model, "speculative", 3)
    assert model.limit("speculative") == 5


def test_requests_go_where_others_are_not() -> None:
    """Of three replicas one is busy for others: it gets the fourth and fifth request of each."""
    model = fleet.make(fleet.config(speculative=3, threshold=10))
    tell(model, "speculative", 4, 0, 0)
    busy = next(iter(model.pools["speculative"].replicas.values()))
    grants = [fleet.take(model) for _ in range(8)]
    assert busy not in [grant.replica for grant in grants]
    assert Counter(grant.replica for grant in grants).most_common()[0][1] == 4
    more = [fleet.take(model) for _ in range(3)]
    assert busy in [grant.replica for grant in more]


def test_nobody_waits_for_it() -> None:
    """Both pools' engines are full of others' requests, and still take all that max_inflight lets in."""
    model = fleet.make(fleet.config(threshold=2, max_inflight=3))
    tell(model, "speculative", 50)
    tell(model, "baseline", 50)
    grants = fleet.fill(model)
    assert len(grants) == 6
    assert model.admit(fleet.ASK) is Refusal.FULL


def test_max_inflight_holds_where_the_least_loaded_replica_is_full_of_ours() -> None:
    """The other has room, and more from elsewhere than the full one has of ours."""
    model = fleet.make(fleet.config(speculative=None, baseline=2, max_inflight=3))
    tell(model, "baseline", 0, 9)
    grants = fleet.fill(model)
    assert Counter(grant.replica for grant in grants) == dict.fromkeys(model.pools["baseline"].replicas.values(), 3)


def test_a_retry_too() -> None:
    model = fleet.make(fleet.config(speculative=None, baseline=3, max_inflight=2))
    tell(model, "baseline", 0, 9, 9)
    tried, *others = model.pools["baseline"].replicas.values()
    again = fleet.ASK._replace(failed="baseline", tried=[tried])
    assert [fleet.take(model, again).replica in others for _ in range(4)] == [True] * 4
    assert model.admit(again) is Refusal.FULL


def test_switch_moves_for_it() -> None:
    model = fleet.make(fleet.config(mode="switch", threshold=4))
    tell(model, "baseline", 3)
    placed = [fleet.where(fleet.take(model)) for _ in range(2)]
    assert placed == [("speculative", Reason.UNDER_THRESHOLD), ("baseline", Reason.ENGINE_LOAD)]
    assert model.high


def test_what_an_engine_said_is_void_once_its_meaning_has_changed() -> None:
    """As when Redis goes: until then other gateways' requests were known."""
    model = fleet.make(fleet.config())
    pool = model.pools["speculative"]
    (replica,) = pool.replicas.values()
    replica.engine_load = load = EngineLoad()
    pool.forget_outside()
    for expected in (0, 4):
        load.begin(0)
        pool.found_outside(replica, load.finish(Reading(4), 0, 0.0))
        assert pool.outside == expected
    pool.forget_outside()
    assert pool.outside == replica.outside == 0
    assert load.count is None


def test_the_end_of_a_request_is_noted_for_the_next_reading() -> None:
    """A lease that has just ended may still be in the engine's count."""
    model = fleet.make(fleet.config())
    (replica,) = model.pools["speculative"].replicas.values()
    replica.engine_load = load = EngineLoad()
    grants = [fleet.take(model) for _ in range(3)]
    for grant in grants:
        grant.lease.release()
    assert load.most == 3
