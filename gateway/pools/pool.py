"""The replicas of one model that were launched with one profile."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from gateway.config import PoolConfig
from gateway.pools.replica import Replica, State
from gateway.routing import PoolLoad, Role, least_inflight


class Supervisor(Protocol):
    """Whoever connects to replicas and probes them."""

    def adopt(self, pool: "Pool", replica: Replica) -> None:
        """A replica joined the pool."""
        ...

    def dismiss(self, replica: Replica) -> None:
        """A replica left and has nothing in flight any more."""
        ...


class Pool:
    """Replicas by URL. `reconcile` is the one place where they come and go."""

    def __init__(self, model: str, role: Role, supervisor: Supervisor, on_change: Callable[[], None]) -> None:
        """Start empty; `on_change` runs when the set of ready replicas has changed."""
        self.model = model
        self.role = role
        self.config: PoolConfig | None = None
        self.inflight = 0
        self.replicas: dict[str, Replica] = {}
        self.ready: tuple[Replica, ...] = ()
        self._supervisor = supervisor
        self._on_change = on_change

    def reconfigure(self, config: PoolConfig | None) -> None:
        """Take over settings and static replicas; None removes the pool from service, its streams finish."""
        self.config = config
        if config is None:
            self.reconcile(())
            return
        for replica in self.replicas.values():
            replica.reconfigure(config)
        self.reconcile(url.rstrip("/") for url in config.discovery.static or ())

    def reconcile(self, observed: Iterable[str]) -> None:
        """Make the pool's replicas those observed. One that is gone gets nothing new and may finish what it has."""
        wanted = dict.fromkeys(observed)
        for url, replica in list(self.replicas.items()):
            if url not in wanted:
                replica.removed = True
                self._forget_if_idle(replica)
        if self.config is not None:
            for url in wanted:
                known = self.replicas.get(url)
                if known is not None:
                    known.removed = False
                    continue
                self.replicas[url] = replica = Replica(url, self.config)
                self._supervisor.adopt(self, replica)
        self.refresh()

    def refresh(self) -> None:
        """Look at every replica's state again."""
        ready = tuple(replica for replica in self.replicas.values() if replica.state is State.READY)
        if ready != self.ready:
            self.ready = ready
            self._on_change()

    def released(self, replica: Replica) -> None:
        """A lease on this replica has ended."""
        if replica.removed:
            self._forget_if_idle(replica)

    def load(self, excluded: Collection[Replica] = ()) -> PoolLoad:
        """The pool as a policy sees it; `excluded` replicas have been tried already."""
        ready, config = self.ready, self.config
        if not ready or config is None:
            return PoolLoad(self.inflight, 0, False, False)
        ceiling, available = config.max_inflight, False
        for replica in ready:
            if replica in excluded:
                continue
            available = True
            if replica.inflight < ceiling:
                return PoolLoad(self.inflight, len(ready), True, True)
        return PoolLoad(self.inflight, len(ready), available, False)

    def pick(self, affinity: int, excluded: Collection[Replica] = ()) -> Replica:
        """The replica for the next request, in a pool that has room.

        Raises:
            LookupError: the pool has no ready replica outside `excluded`.
        """
        replica = least_inflight(self.ready, affinity, excluded)
        if replica is None:
            raise LookupError(f"{self.model}/{self.role} has no ready replica")
        return replica

    def _forget_if_idle(self, replica: Replica) -> None:
        if replica.inflight == 0 and self.replicas.get(replica.url) is replica:
            del self.replicas[replica.url]
            self._supervisor.dismiss(replica)
