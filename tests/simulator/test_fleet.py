"""Both pools behind a policy: what is admitted, queued, refused and counted."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.routing import ModelLoad, Placement
from gateway.simulator.agenda import Agenda
from gateway.simulator.arms import Arm, Pinned, Spill, Switch
from gateway.simulator.engine import Job
from gateway.simulator.fleet import Fleet, Site
from tests.simulator.runs import PLAIN


class Watching(Arm):
    """Passes on to another policy, and checks the counts that it is shown."""

    watches = True

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm.name)
        self.arm = arm
        self.fleet: Fleet | None = None
        self.most = 0

    def place(self, load: ModelLoad, job: Job, now: float, /) -> Placement:
        self.check(load)
        return self.arm.place(load, job, now)

    def settled(self, load: ModelLoad, now: float, /) -> None:
        self.check(load)
        self.arm.settled(load, now)

    def check(self, load: ModelLoad) -> None:
        assert self.fleet is not None
        assert load.speculative is not None
        self.most = max(self.most, load.speculative.inflight)
        for role, pool in self.fleet.pools.items():
            shown = load.pool(role)
            assert shown is not None
            assert shown.inflight == pool.inflight == sum(replica.inflight for replica in pool.replicas)
            assert all(replica.inflight <= pool.max_inflight for replica in pool.replicas)
            assert shown.has_room == any(replica.inflight < pool.max_inflight for replica in pool.replicas)


def outcome(arrivals: list[tuple[float, Job]], arm: Arm, site: Site) -> tuple[list[Job], list[Job], Watching]:
    agenda, done, refused, watching = Agenda(), list[Job](), list[Job](), Watching(arm)
    fleet = watching.fleet = Fleet(agenda, site, watching, done.append, refused.append)
    for time, job in arrivals:
        agenda.at(time, partial(fleet.arrive, job))
    agenda.run()
    assert fleet.load().inflight == fleet.waiting == 0
    return done, refused, watching


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 5.0), st.floats(1.0, 200.0), st.integers(0, 2**32 - 1)), max_size=80),
    st.sampled_from(["pinned", "spill", "switch"]),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 4),
    st.integers(0, 10),
    st.sampled_from(["own", "time", 0.3]),
)
def test_every_request_ends_once_and_counts_agree(
    rows: list[tuple[float, float, int]],
    kind: str,
    replicas: tuple[int, int],
    most: int,
    queue: int,
    shared: object,
) -> None:
    arrivals = [(time, Job(0, tokens, affinity)) for time, tokens, affinity in sorted(rows)]
    arm = {"pinned": Pinned("baseline"), "spill": Spill(2), "switch": Switch(2)}[kind]
    site = Site(PLAIN, PLAIN, replicas, most, queue_size=queue, queue_timeout=2.0)
    if shared == "time" or isinstance(shared, float):
        site = site._replace(shared=shared)
    done, refused, watching = outcome(arrivals, arm, site)
    assert sorted(map(id, (*done, *refused))) == sorted(id(job) for _, job in arrivals)
    if kind == "spill" and most >= 2 and len(rows) <= most * replicas[1]:
        assert watching.most <= 2 * replicas[0]


def test_a_full_fleet_queues_then_refuses() -> None:
    site = Site(PLAIN, PLAIN, (1, 1), 1, queue_size=1, queue_timeout=30.0)
    jobs = [Job(tokens=100.0) for _ in range(3)]
    done, refused, _ = outcome([(0.0, job) for job in jobs], Pinned("speculative"), site)
    assert refused == [jobs[2]]
    assert [(job.placed, job.done) for job in done] == [(0.0, 1.0), (1.0, 2.0)]


def test_who_waits_in_vain_is_refused_in_time() -> None:
    site = Site(PLAIN, PLAIN, (1, 1), 1, queue_size=1, queue_timeout=0.5)
    jobs = [Job(tokens=100.0), Job(tokens=100.0)]
    done, refused, _ = outcome([(0.0, job) for job in jobs], Pinned("speculative"), site)
    assert (done, refused) == ([jobs[0]], [jobs[1]])


def test_switch_turns_and_returns() -> None:
    site = Site(PLAIN, PLAIN)
    arrivals = [(0.0, Job(tokens=100.0)) for _ in range(3)] + [(9.0, Job(tokens=1.0)), (12.0, Job(tokens=1.0))]
    done, _, watching = outcome(arrivals, Switch(2), site)
    assert watching.arm.changes == 2
    assert [job.replica.role for job in done if job.replica] == ["baseline", *(["speculative"] * 4)]


@pytest.mark.parametrize("replicas", [1, 5, 200])
def test_spread_is_the_gateways(replicas: int) -> None:
    site = Site(PLAIN, PLAIN, (replicas, 1))
    agenda = Agenda()
    fleet = Fleet(agenda, site, Pinned("speculative"), lambda _: None, lambda _: None)
    for number in range(replicas * 3):
        fleet.arrive(Job(tokens=1000.0, affinity=number * 2654435761 % 2**32))
    counts = [replica.inflight for replica in fleet.pools["speculative"].replicas]
    assert sum(counts) == replicas * 3
    assert max(counts) <= (3 if replicas <= 64 else 5)
