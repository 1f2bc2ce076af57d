"""Gives a pool the endpoints that a thread finds in a Kubernetes cluster."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable

from gateway.config import Kubernetes
from gateway.pools.discovery.api import Api, Trouble
from gateway.pools.discovery.follower import Follower, Report
from gateway.pools.observed import Delta
from gateway.pools.pool import Pool

# How long an endpoint that is gone and idle is remembered, in case it moves to another slice.
_LINGER = 1.0
_END_SECONDS = 1.0


Connect = Callable[[Kubernetes], Api]


def cluster(settings: Kubernetes) -> Api:
    """The API server of the cluster. Slow where it is the first call: the official client is big."""
    from gateway.pools.discovery.cluster import Cluster

    return Cluster(settings)


class KubernetesSource:
    """The loop's side: takes what the thread reports, and applies it to the pool unless stopped."""

    def __init__(
        self,
        pool: Pool,
        settings: Kubernetes,
        count_error: Callable[[Trouble], None],
        connect: Connect,
    ) -> None:
        """Nothing happens before `start`. `connect` is called in the thread."""
        self._pool = pool
        self._settings = settings
        self._count_error = count_error
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._ended = asyncio.Event()
        self._api: Api | None = None
        self._thread = threading.Thread(target=self._follow, name=f"discover {pool.model}/{pool.role}", daemon=True)

    def start(self) -> None:
        """Follow from now on. What the pool has stays until the first list has come."""
        self._pool.confirmed_at = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer, and leave the pool as it is."""
        self._stop.set()
        if self._api is not None:
            self._api.interrupt()

    async def ended(self) -> None:
        """Wait for the thread, up to 1 s: one that connects can't be interrupted, and does no harm."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._ended.wait()

    def _follow(self) -> None:
        self._api = api = self._connect(self._settings)
        name = f"{self._pool.model}/{self._pool.role}"
        Follower(name, api, self._settings, self._post, self._stop).run()
        self._call(self._ended.set)

    def _post(self, seen: Report | Trouble) -> None:
        self._call(lambda: self._take(seen))

    def _call(self, action: Callable[[], None]) -> None:
        # The loop may have ended before a thread that could not be interrupted.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)

    def _take(self, seen: Report | Trouble) -> None:
        if self._stop.is_set():
            return
        if isinstance(seen, Trouble):
            self._count_error(seen)
            self._pool.missed()
            return
        self._pool.confirmed_at = seen.at
        if seen.observed is None:
            return
        self._pool.reconcile(seen.observed)
        if isinstance(seen.observed, Delta) and seen.observed.left:
            self._loop.call_later(_LINGER, self._pool.sweep)
