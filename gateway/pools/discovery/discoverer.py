"""Which source looks for the replicas of which pool."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from gateway.config import Discovery
from gateway.pools.discovery.kubernetes import Connect, KubernetesSource, cluster
from gateway.pools.discovery.static import StaticSource
from gateway.pools.pool import Pool


class Source(Protocol):
    """What finds a pool's replicas, from `start` until `stop`; after that, nothing of it reaches the pool."""

    def start(self) -> None:
        """Look for replicas from now on, and reconcile the pool with what is found."""
        ...

    def stop(self) -> None:
        """Look no longer."""
        ...

    async def ended(self) -> None:
        """Wait until what looked has ended, after `stop`."""
        ...


class Discoverer:
    """One source for each pool in service."""

    def __init__(self, count_error: Callable[[Pool, str], None], connect: Connect = cluster) -> None:
        """Use it inside the event loop. `count_error` is told of each failure and its kind."""
        self._count_error = count_error
        self._connect = connect
        self._sources: dict[Pool, tuple[Discovery, Source]] = {}

    def discover(self, pool: Pool, discovery: Discovery | None) -> None:
        """See `gateway.pools.Supervisor`. A source whose settings have not changed goes on as it is."""
        known, source = self._sources.get(pool, (None, None))
        if discovery == known:
            return
        if source is not None:
            source.stop()
            pool.confirmed_at = None
            del self._sources[pool]
        if discovery is not None:
            started = self._source(pool, discovery)
            self._sources[pool] = discovery, started
            started.start()

    def _source(self, pool: Pool, discovery: Discovery) -> Source:
        if discovery.kubernetes is None:
            return StaticSource(pool, discovery)
        return KubernetesSource(
            pool, discovery.kubernetes, lambda trouble: self._count_error(pool, trouble), self._connect
        )

    async def close(self) -> None:
        """Stop all looking."""
        sources = [source for _, source in self._sources.values()]
        self._sources.clear()
        for source in sources:
            source.stop()
        await asyncio.gather(*(source.ended() for source in sources))
