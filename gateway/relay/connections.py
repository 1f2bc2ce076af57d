"""Connections by replica."""

from collections.abc import Callable

from gateway.pools import Replica
from gateway.relay.upstream import Upstream


class Connections:
    """One `Upstream` for each replica, from its first use until it is forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._upstreams: dict[Replica, Upstream] = {}

    def of(self, replica: Replica) -> Upstream:
        """The connections to this replica."""
        upstream = self._upstreams.get(replica)
        if upstream is None:
            upstream = self._upstreams[replica] = Upstream(replica, self._clock)
        return upstream

    def progress(self, replica: Replica) -> int:
        """A number that grows with every read from the engine."""
        upstream = self._upstreams.get(replica)
        return upstream.progress() if upstream else 0

    def abort(self, replica: Replica) -> None:
        """Break the connections in use: the engine is gone and will not answer on them."""
        upstream = self._upstreams.get(replica)
        if upstream:
            upstream.abort_active()

    def forget(self, replica: Replica) -> None:
        """The replica is gone: close what is idle."""
        upstream = self._upstreams.pop(replica, None)
        if upstream is not None:
            upstream.close()

    def close(self) -> None:
        """Close all that is idle."""
        for replica in list(self._upstreams):
            self.forget(replica)
