"""A lease counts once, from its making to its first release."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from gateway.load import Lease


@dataclass
class Count:
    inflight: int = 0


def nothing() -> None:
    pass


def test_it_counts_in_both_places() -> None:
    pool, replica = Count(3), Count(1)
    lease = Lease(pool, replica, nothing)
    assert lease.held
    assert (pool.inflight, replica.inflight) == (4, 2)
    lease.release()
    assert not lease.held
    assert (pool.inflight, replica.inflight) == (3, 1)


def test_the_counts_have_fallen_when_the_release_is_told() -> None:
    pool, replica = Count(), Count()
    seen: list[tuple[int, int, bool]] = []
    lease = Lease(pool, replica, lambda: seen.append((pool.inflight, replica.inflight, lease.held)))
    lease.release()
    lease.release()
    assert seen == [(0, 0, False)]


def test_a_release_within_a_release_does_nothing() -> None:
    pool, replica = Count(), Count()
    lease = Lease(pool, replica, lambda: lease.release())
    lease.release()
    assert (pool.inflight, replica.inflight) == (0, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_counts_are_the_held_leases(steps: list[tuple[bool, int]]) -> None:
    """However takes, releases and releases of what was released follow each other."""
    pool, replicas = Count(), [Count(), Count(), Count()]
    taken: list[tuple[Lease, Count]] = []
    for take, number in steps:
        if take:
            replica = replicas[number % 3]
            taken.append((Lease(pool, replica, nothing), replica))
        elif taken:
            taken[number % len(taken)][0].release()
        held = [(lease, replica) for lease, replica in taken if lease.held]
        assert pool.inflight == len(held)
        for replica in replicas:
            assert replica.inflight == sum(owner is replica for _, owner in held)
