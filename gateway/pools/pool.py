"""The replicas of one model that were launched with one profile."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol

from gateway.config import Discovery, PoolConfig
from gateway.pools.observed import Delta, Observed
from gateway.pools.replica import Replica, State
from gateway.routing import PoolLoad, Role, balanced


class Supervisor(Protocol):
    """Whoever finds replicas, connects to them and probes them."""

    def discover(self, pool: "Pool", discovery: Discovery | None) -> None:
        """Reconcile the pool with what `discovery` finds from now on, in place of what it said before; None: stop."""
        ...

    def adopt(self, pool: "Pool", replica: Replica) -> None:
        """A replica joined the pool."""
        ...

    def dismiss(self, replica: Replica) -> None:
        """A replica left and has nothing in flight any more."""
        ...


def _place(replica: Replica) -> tuple[int, str]:
    return replica.digest, replica.url


class Pool:
    """Replicas by URL. `reconcile` is the one place where they come and go."""

    def __init__(self, model: str, role: Role, supervisor: Supervisor, on_change: Callable[[], None]) -> None:
        """Start empty; `on_change` runs when the set of ready replicas has changed."""
        self.model = model
        self.role = role
        self.config: PoolConfig | None = None
        self.inflight = 0
        # What other gateways hold here, as far as is known.
        self.elsewhere = 0
        # What the ready replicas' engines hold beside all leases, as far as they were asked.
        self.outside = 0
        self.replicas: dict[str, Replica] = {}
        # When discovery last confirmed the replicas (monotonic seconds); None where there is nothing to confirm.
        self.confirmed_at: float | None = None
        self._observed = False
        self._gateways = 1
        self._ceiling = 1
        self._ready: list[Replica] = []
        self._leaving: set[Replica] = set()
        self._supervisor = supervisor
        self._on_change = on_change

    @property
    def ready(self) -> Sequence[Replica]:
        """The replicas that take new requests, sorted by digest."""
        return self._ready

    @property
    def expecting(self) -> bool:
        """Whether it may have ready replicas in a moment: they are not known yet, or some were not probed yet."""
        if self.config is None:
            return False
        return not self._observed or any(
            replica.health.unprobed and not replica.removed for replica in self.replicas.values()
        )

    def reconfigure(self, config: PoolConfig | None) -> None:
        """Take over settings and discovery; None removes the pool from service, its streams finish."""
        self.config = config
        self.divide(self._gateways)
        if config is not None:
            for replica in self.replicas.values():
                replica.reconfigure(config)
        self._supervisor.discover(self, config.discovery if config else None)
        if config is None:
            self.reconcile(())
            self._observed = False

    def divide(self, gateways: int) -> None:
        """Take at most one of so many gateways' share of `max_inflight`, at least 1: they can't count together."""
        self._gateways = gateways
        self._ceiling = max(self.config.max_inflight // gateways, 1) if self.config else 1

    def reconcile(self, observed: Observed) -> None:
        """Make the pool's replicas those observed. One that is gone gets nothing new and may finish what it has.

        After a delta, those that are gone and idle are known until the next `sweep`: an endpoint that moves from one
        EndpointSlice to another may be in neither for a moment. What a delta costs does not depend on the others.
        """
        self._observed = True
        if isinstance(observed, Delta):
            changed = [*self._part(observed.left), *self._join(observed.joined)]
        else:
            wanted = dict.fromkeys(observed)
            changed = [*self._part([url for url in self.replicas if url not in wanted]), *self._join(wanted)]
            self.sweep()
        if changed:
            self.refresh(*changed)

    def missed(self) -> None:
        """Discovery could not find out: nobody shall wait for what it may find later."""
        self._observed = True

    def sweep(self) -> None:
        """Forget the replicas that are gone and idle."""
        for replica in list(self._leaving):
            self._forget_if_idle(replica)

    def refresh(self, *changed: Replica) -> None:
        """Look again at the state of these replicas, or of all."""
        if sum(self._rank(replica) for replica in changed or self.replicas.values()):
            self._on_change()

    def released(self, replica: Replica) -> None:
        """A lease on this replica has ended."""
        if replica.engine_load is not None:
            replica.engine_load.saw(replica.inflight + replica.elsewhere + 1)
        if replica.removed:
            self._forget_if_idle(replica)

    def found_outside(self, replica: Replica, requests: int) -> None:
        """The replica's engine holds so many requests beside all leases; it counts while the replica is ready."""
        if replica.state is not State.READY:
            requests = 0
        self.outside += requests - replica.outside
        replica.outside = requests

    def forget_outside(self) -> None:
        """What is known of other gateways has changed as a whole, and with it what an engine's count means."""
        for replica in self.replicas.values():
            if replica.engine_load is not None:
                replica.engine_load.forget()
                self.found_outside(replica, 0)

    def load(self, excluded: Collection[Replica] = ()) -> PoolLoad:
        """The pool as a policy sees it; `excluded` replicas have been tried already."""
        ready, config = self._ready, self.config
        if not ready or config is None:
            return PoolLoad(self.inflight, 0, False, False)
        outside = self.outside
        ceiling, available = self._ceiling, False
        if not excluded and self.inflight < ceiling * len(ready):
            return PoolLoad(self.inflight, len(ready), True, True, outside)
        for replica in ready:
            if replica in excluded:
                continue
            available = True
            if replica.inflight < ceiling:
                return PoolLoad(self.inflight, len(ready), True, True, outside)
        return PoolLoad(self.inflight, len(ready), available, False, outside)

    def pick(self, affinity: int, excluded: Collection[Replica] = ()) -> Replica:
        """The replica for the next request, in a pool that has room.

        Raises:
            LookupError: the pool has no ready replica outside `excluded`.
        """
        ceiling, total = self._ceiling, self.inflight
        if self.outside:
            # The one with the fewest requests may be full of ours, while another has more of others and room.
            full = {replica for replica in self._ready if replica.inflight >= ceiling} if total >= ceiling else set()
            excluded, total, ceiling = {*excluded, *full}, total + self.outside, ceiling + self.outside
        replica = balanced(self._ready, affinity, total, ceiling, excluded, outside=self.outside > 0)
        if replica is None:
            raise LookupError(f"{self.model}/{self.role} has no ready replica")
        return replica

    def _part(self, urls: Iterable[str]) -> Iterator[Replica]:
        """Mark these as gone; yields those that were not."""
        for url in urls:
            replica = self.replicas.get(url)
            if replica is not None and not replica.removed:
                replica.removed = True
                self._leaving.add(replica)
                yield replica

    def _join(self, urls: Iterable[str]) -> Iterator[Replica]:
        """Take these in; yields those that were gone. A new one is not ready before its first probe."""
        if self.config is None:
            return
        for url in urls:
            known = self.replicas.get(url)
            if known is None:
                self.replicas[url] = replica = Replica(url, self.config)
                self._supervisor.adopt(self, replica)
            elif known.removed:
                known.removed = False
                self._leaving.discard(known)
                yield known

    def _rank(self, replica: Replica) -> bool:
        """Put it among the ready ones or take it out; whether that was a change."""
        at = bisect_left(self._ready, _place(replica), key=_place)
        was_ready = at < len(self._ready) and self._ready[at] is replica
        is_ready = replica.state is State.READY
        if is_ready and not was_ready:
            self._ready.insert(at, replica)
        elif was_ready and not is_ready:
            del self._ready[at]
            self.found_outside(replica, 0)
        return is_ready != was_ready

    def _forget_if_idle(self, replica: Replica) -> None:
        if replica.inflight == 0 and replica in self._leaving:
            self._leaving.discard(replica)
            del self.replicas[replica.url]
            self._supervisor.dismiss(replica)
