"""A pool of one replica, its prober and the real connections to it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from gateway.config import PoolConfig
from gateway.pools import Pool, Prober, Replica
from gateway.relay import Connections
from gateway.relay.engine import EngineError, Headers
from tests.models.fleet import Watch
from tests.pools.engine import Engine

QUICK = {"path": "/health", "interval": 0.02, "eject_seconds": 0.05, "eject_max_seconds": 0.2}
# For tests of engines that hang; others must not take a busy machine for one.
IMPATIENT: dict[str, Any] = {"timeout": 0.08, "hang_seconds": 0.3}


@dataclass
class Stream:
    """A request that is being answered for as long as the engine likes."""

    first_byte: asyncio.Event = field(default_factory=asyncio.Event)
    error: EngineError | None = None
    ended: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def on_head(self, _status: int, _headers: Headers) -> None:
        pass

    def on_data(self, _data: bytes) -> None:
        self.first_byte.set()

    def on_chunks(self, _data: bytes) -> bool:
        return False

    def on_end(self) -> None:
        self.ended = True
        self.over.set()

    def on_error(self, error: EngineError) -> None:
        self.error = error
        self.over.set()


@dataclass
class Probing:
    """`changes`: whether it was ready, after each change of the pool's ready replicas."""

    engine: Engine
    pool: Pool
    replica: Replica
    prober: Prober
    connections: Connections
    changes: list[bool]
    changed: asyncio.Event

    async def becomes(self, ready: bool, seconds: float = 3.0) -> None:
        """Wait until the pool counts the replica as ready, or no longer does."""
        async with asyncio.timeout(seconds):
            while (self.replica in self.pool.ready) != ready:
                self.changed.clear()
                await self.changed.wait()

    async def stream(self) -> Stream:
        """Open one, and wait until the engine sends."""
        upstream, stream = self.connections.of(self.replica), Stream()
        connection = await upstream.connect(1.0)
        connection.send(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n", b"", stream)
        await asyncio.wait_for(stream.first_byte.wait(), 3)
        return stream


@asynccontextmanager
async def probing(engine: Engine, engine_kind: str = "openai", **health: Any) -> AsyncIterator[Probing]:
    """Probe the engine until the end."""
    settings = {"engine": engine_kind, "discovery": {"static": [engine.url]}, "health": {**QUICK, **health}}
    changes: list[bool] = []
    changed = asyncio.Event()

    def on_change() -> None:
        changes.append(bool(pool.ready))
        changed.set()

    pool = Pool("m", "speculative", Watch(), on_change)
    pool.reconfigure(PoolConfig.model_validate(settings))
    [replica] = pool.replicas.values()
    connections = Connections(time.monotonic)
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        prober = Prober(lambda _: client, pool, replica, connections, time.monotonic)
        task = asyncio.create_task(prober.run())
        try:
            yield Probing(engine, pool, replica, prober, connections, changes, changed)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            connections.abort(replica)
            connections.close()
