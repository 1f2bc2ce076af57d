"""In-flight counts of one gateway. A count changes only through a lease, and a lease ends once."""

from collections.abc import Callable
from typing import Protocol


class Counted(Protocol):
    """Something that holds leases: a pool, a replica."""

    inflight: int


class Lease:
    """One admitted request on one replica. Invariant: it adds one to its pool and its replica until `release`."""

    __slots__ = ("_held", "_on_release", "_pool", "_replica")

    def __init__(self, pool: Counted, replica: Counted, on_release: Callable[[], None]) -> None:
        """Take the lease; `on_release` runs once, after the counts have fallen."""
        self._pool = pool
        self._replica = replica
        self._on_release = on_release
        self._held = True
        pool.inflight += 1
        replica.inflight += 1

    @property
    def pool(self) -> Counted:
        """Where it counts."""
        return self._pool

    @property
    def held(self) -> bool:
        """Whether it still counts."""
        return self._held

    def release(self) -> None:
        """Give it back. Further calls do nothing."""
        if not self._held:
            return
        self._held = False
        self._pool.inflight -= 1
        self._replica.inflight -= 1
        self._on_release()
