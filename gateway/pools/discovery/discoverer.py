"""Which source looks for the replicas of which pool."""

import asyncio
from typing import Protocol

from gateway.config import Discovery
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

    def __init__(self) -> None:
        """Use it inside the event loop."""
        self._sources: dict[Pool, tuple[Discovery, Source]] = {}

    def discover(self, pool: Pool, discovery: Discovery | None) -> None:
        """See `gateway.pools.Supervisor`. A source whose settings have not changed goes on as it is."""
        known, source = self._sources.get(pool, (None, None))
        if discovery == known:
            return
        if source is not None:
            source.stop()
            del self._sources[pool]
        if discovery is not None:
            started = StaticSource(pool, discovery)
            self._sources[pool] = discovery, started
            started.start()

    async def close(self) -> None:
        """Stop all looking."""
        sources = [source for _, source in self._sources.values()]
        self._sources.clear()
        for source in sources:
            source.stop()
        await asyncio.gather(*(source.ended() for source in sources))
