"""Replicas come and go: whole views, deltas, and what a policy sees of them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config import PoolConfig
from gateway.load import Lease
from gateway.pools import Pool, Replica, State
from gateway.pools.observed import Delta
from gateway.routing import PoolLoad
from tests.models.fleet import Watch, eject, recover

URLS = [f"http://10.0.0.{number}:30000" for number in range(6)]


class Site:
    """A pool that finds no replica by itself, and how often its ready ones have changed."""

    def __init__(self, max_inflight: int = 2) -> None:
        self.watch = Watch()
        self.changes = 0
        self.pool = Pool("m", "baseline", self.watch, self._changed)
        settings = {"max_inflight": max_inflight, "discovery": {"static": ["http://none:1"]}}
        self.pool.reconfigure(PoolConfig.model_validate(settings))
        self.pool.reconcile(())
        self.watch.adopted.clear()
        self.watch.dismissed.clear()

    def _changed(self) -> None:
        self.changes += 1

    def see(self, *urls: str) -> list[Replica]:
        """All there is; every replica is well."""
        self.pool.reconcile(urls)
        recover(self.pool, *self.pool.replicas.values())
        return [self.pool.replicas[url] for url in urls]

    def lease(self, replica: Replica) -> Lease:
        return Lease(self.pool, replica, lambda: self.pool.released(replica))


def test_a_new_replica_is_not_ready_before_its_probe() -> None:
    site = Site()
    site.pool.reconcile(URLS[:2])
    assert [replica.url for replica in site.watch.adopted] == URLS[:2]
    assert not site.pool.ready
    assert site.changes == 0
    recover(site.pool, *site.watch.adopted)
    assert set(site.pool.ready) == set(site.watch.adopted)
    assert site.changes == 1


def test_it_expects_replicas_until_they_are_found_and_probed() -> None:
    pool = Pool("m", "baseline", Watch(), lambda: None)
    assert not pool.expecting, "it is not in service"
    settings = PoolConfig.model_validate({"discovery": {"kubernetes": {"service": "s"}}})
    pool.config = settings
    assert pool.expecting
    pool.missed()
    assert not pool.expecting, "discovery fails: there is nothing to wait for"
    pool.reconfigure(None)
    pool.config = settings
    assert pool.expecting
    pool.reconcile(())
    assert not pool.expecting, "there are none"
    pool.reconcile(URLS[:2])
    assert pool.expecting
    first, second = pool.replicas.values()
    first.health.probe_failed()
    assert pool.expecting
    recover(pool, second)
    assert not pool.expecting
    pool.reconcile([*URLS[:2], URLS[2]])
    assert pool.expecting
    pool.replicas[URLS[2]].inflight = 1
    pool.reconcile(URLS[:2])
    assert not pool.expecting, "what was removed gets nothing new"


def test_seeing_the_same_again_changes_nothing() -> None:
    site = Site()
    before, changes = site.see(*URLS[:3]), site.changes
    site.pool.reconcile(reversed(URLS[:3]))
    site.pool.reconcile([*URLS[:3], URLS[0]])
    assert [site.pool.replicas[url] for url in URLS[:3]] == before
    assert (len(site.watch.adopted), site.changes) == (3, changes)


def test_an_idle_replica_that_is_gone_is_dismissed_at_once() -> None:
    site = Site()
    first, second = site.see(*URLS[:2])
    site.pool.reconcile([second.url])
    assert site.watch.dismissed == [first]
    assert list(site.pool.replicas) == [second.url]
    assert list(site.pool.ready) == [second]


def test_a_busy_replica_that_is_gone_drains() -> None:
    site = Site()
    [replica] = site.see(URLS[0])
    leases = [site.lease(replica), site.lease(replica)]
    site.pool.reconcile(())
    assert replica.state is State.DRAINING
    assert not site.pool.ready
    assert site.pool.load() == PoolLoad(2, 0, available=False, has_room=False)
    leases[0].release()
    assert site.watch.dismissed == []
    leases[1].release()
    leases[1].release()
    assert site.watch.dismissed == [replica]


def test_a_draining_replica_that_comes_back_serves_again() -> None:
    site = Site()
    [replica] = site.see(URLS[0])
    lease = site.lease(replica)
    site.pool.reconcile(())
    site.pool.reconcile(URLS[:1])
    assert list(site.pool.ready) == [replica]
    assert len(site.watch.adopted) == 1
    lease.release()
    assert site.watch.dismissed == []


def test_a_dismissed_replica_that_comes_back_is_a_new_one() -> None:
    site = Site()
    [old] = site.see(URLS[0])
    site.pool.reconcile(())
    [new] = site.see(URLS[0])
    assert new is not old
    assert site.watch.dismissed == [old]


def test_a_delta_leaves_the_others_alone() -> None:
    site = Site()
    first, second = site.see(*URLS[:2])
    site.pool.reconcile(Delta(joined=(URLS[2],)))
    assert list(site.pool.replicas) == URLS[:3]
    site.pool.reconcile(Delta(left=(first.url, "http://unknown:1")))
    assert list(site.pool.ready) == [second]
    assert first.removed


def test_after_a_delta_the_gone_are_remembered_until_the_sweep() -> None:
    """An endpoint on its way from one slice to another is in neither for a moment."""
    site = Site()
    first, second = site.see(*URLS[:2])
    site.pool.reconcile(Delta(left=(first.url, second.url)))
    site.pool.reconcile(Delta(joined=(first.url,)))
    assert list(site.pool.ready) == [first]
    site.pool.sweep()
    assert site.watch.dismissed == [second]
    assert len(site.watch.adopted) == 2


def test_the_change_is_told_once_for_all() -> None:
    site = Site()
    replicas = site.see(*URLS)
    changes = site.changes
    eject(site.pool, *replicas)
    assert site.changes == changes + 1
    assert not site.pool.ready
    site.pool.refresh()
    assert site.changes == changes + 1


def test_a_pool_out_of_service_keeps_only_who_is_busy() -> None:
    site = Site()
    busy, _ = site.see(*URLS[:2])
    lease = site.lease(busy)
    site.pool.reconfigure(None)
    assert list(site.pool.replicas.values()) == [busy]
    assert site.pool.load() == PoolLoad(1, 0, available=False, has_room=False)
    site.pool.reconcile(URLS)
    assert list(site.pool.replicas.values()) == [busy], "without settings nobody is taken in"
    lease.release()
    assert site.pool.replicas == {}


def test_new_settings_reach_the_replicas_there_are() -> None:
    site = Site()
    [replica] = site.see(URLS[0])
    health = replica.health
    settings = {"discovery": {"static": [URLS[0]]}, "max_inflight": 7, "health": {"eject_after": 1}}
    site.pool.reconfigure(PoolConfig.model_validate(settings))
    assert site.pool.replicas[URLS[0]] is replica
    assert replica.config.max_inflight == 7
    assert health.settings.eject_after == 1
    assert health.ready


def test_picking_from_nobody() -> None:
    site = Site()
    with pytest.raises(LookupError):
        site.pool.pick(0)
    [replica] = site.see(URLS[0])
    with pytest.raises(LookupError):
        site.pool.pick(0, (replica,))


indexes = st.integers(0, len(URLS) - 1)
views = st.lists(indexes, unique=True)
kinds = st.sampled_from(["see", "joined", "left", "sweep", "well", "unwell", "lease", "release"])


def step(site: Site, leases: list[Lease], kind: str, urls: list[str]) -> None:
    """One thing happens to these replicas, as far as the pool knows them."""
    pool = site.pool
    known = [pool.replicas[url] for url in urls if url in pool.replicas]
    match kind:
        case "see":
            pool.reconcile(urls)
        case "joined":
            pool.reconcile(Delta(joined=tuple(urls)))
        case "left":
            pool.reconcile(Delta(left=tuple(urls)))
        case "sweep":
            pool.sweep()
        case "well":
            recover(pool, *known)
        case "unwell":
            eject(pool, *known)
        case "lease":
            leases += [site.lease(replica) for replica in known if replica in pool.ready]
        case "release":
            for _ in urls[: len(leases)]:
                leases.pop().release()


@given(st.lists(st.tuples(kinds, views), max_size=40), st.data())
def test_what_a_policy_sees(history: Sequence[tuple[str, list[int]]], data: st.DataObject) -> None:
    """At any time: who is ready, whether there is room, and a pick that is the least loaded, as a plain look tells."""
    site, leases = Site(max_inflight=2), list[Lease]()
    pool = site.pool
    for kind, chosen in history:
        step(site, leases, kind, [URLS[index] for index in chosen])
        ready = [replica for replica in pool.replicas.values() if replica.state is State.READY]
        assert set(pool.ready) == set(ready)
        assert [each.digest for each in pool.ready] == sorted(each.digest for each in ready)
        excluded = tuple(data.draw(st.lists(st.sampled_from(ready), unique=True))) if ready else ()
        left = [replica for replica in ready if replica not in excluded]
        room = any(replica.inflight < 2 for replica in left)
        assert pool.load(excluded) == PoolLoad(len(leases), len(ready), available=bool(left), has_room=room)
        if left:
            assert pool.pick(7, excluded).inflight == min(replica.inflight for replica in left)
        assert set(site.watch.adopted) == {*pool.replicas.values(), *site.watch.dismissed}
