"""A pool that follows the stand-in's EndpointSlices, in this process: all but probes and requests is the gateway's."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from gateway.config import Discovery, PoolConfig
from gateway.load import Lease
from gateway.pools import Pool, Replica
from gateway.pools.discovery import Discoverer
from gateway.pools.discovery.kubernetes import Connect, cluster
from tests.kube.shapes import NAMESPACE, SERVICE


class Following:
    """The pool's supervisor. A replica is well as soon as it is adopted."""

    def __init__(self, connect: Connect) -> None:
        self.errors: Counter[str] = Counter()
        self.adopted: list[Replica] = []
        self.dismissed: list[Replica] = []
        self.discoverer = Discoverer(self._count, connect)
        self.pool = Pool("m", "baseline", self, lambda: None)

    def _count(self, _pool: Pool, kind: str) -> None:
        self.errors[kind] += 1

    def discover(self, pool: Pool, discovery: Discovery | None) -> None:
        self.discoverer.discover(pool, discovery)

    def adopt(self, pool: Pool, replica: Replica) -> None:
        self.adopted.append(replica)
        replica.health.probe_succeeded(time.monotonic())
        pool.refresh(replica)

    def dismiss(self, replica: Replica) -> None:
        self.dismissed.append(replica)

    def configure(self, **settings: Any) -> None:
        """Put discovery settings in force."""
        self.pool.reconfigure(PoolConfig.model_validate({"discovery": settings}))

    def follow(self, **settings: Any) -> None:
        """Follow the usual Service."""
        query = {} if "labels" in settings else {"service": SERVICE}
        pace = {"resync_seconds": 30, "timeout_seconds": 1, "backoff_max_seconds": 0.5}
        self.configure(kubernetes={"namespace": NAMESPACE, **query, **pace, **settings})

    @property
    def ready(self) -> list[str]:
        """The hosts that take requests."""
        return sorted(replica.label for replica in self.pool.ready)

    @property
    def age(self) -> float:
        """Seconds since the view was confirmed."""
        assert self.pool.confirmed_at is not None
        return time.monotonic() - self.pool.confirmed_at

    def lease(self) -> tuple[Lease, Replica]:
        """Admit a request."""
        replica = self.pool.pick(0)
        return Lease(self.pool, replica, lambda: self.pool.released(replica)), replica

    async def sees(self, *hosts: str, seconds: float = 3.0) -> float:
        """Wait until exactly these take requests, by host or host:port; the seconds it took."""
        wanted = sorted(host if ":" in host else f"{host}:30000" for host in hosts)
        return await eventually(lambda: self.ready == wanted, lambda: f"{self.ready}, not {wanted}", seconds)


async def eventually(holds: Callable[[], object], describe: Callable[[], object], seconds: float = 3.0) -> float:
    """Wait for a condition; the seconds it took. Raises AssertionError with the description after the deadline."""
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < seconds, describe()
        await asyncio.sleep(0.005)
    return time.monotonic() - started


@asynccontextmanager
async def following(connect: Connect = cluster, **settings: Any) -> AsyncIterator[Following]:
    """Follow until the end, which has to be prompt and leave no thread."""
    made = Following(connect)
    made.follow(**settings)
    try:
        yield made
    finally:
        started = time.monotonic()
        await made.discoverer.close()
        assert time.monotonic() - started < 0.9
        await eventually(lambda: not threads(), threads, 1.0)


def threads() -> list[str]:
    """The discovery threads that run."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("discover ")]
