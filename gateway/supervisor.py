"""Keeps discovery, what is asked of each replica, and its connections in step with the pools."""

import asyncio
import hashlib
import ssl
from collections.abc import Callable
from pathlib import Path

import httpx

from gateway.config import Discovery, EngineTls
from gateway.pools import LoadReaders, Pool, Prober, Replica
from gateway.pools.discovery import Discoverer
from gateway.pools.pace import Pace
from gateway.relay import Connections
from gateway.relay.upstream import tls_context


class Supervisor:
    """Has replicas looked for, adopts them as pools gain them, dismisses them once they are idle and gone."""

    def __init__(
        self,
        connections: Connections,
        clock: Callable[[], float],
        count_discovery_error: Callable[[Pool, str], None],
        count_load_error: Callable[[Pool, str], None],
    ) -> None:
        """`clock` gives monotonic seconds; the others are told the pool and the kind of each failure to find replicas,
        and to read the load of one.
        """
        self._connections = connections
        self._clock = clock
        self._pace = Pace(clock)
        self._discoverer = Discoverer(count_discovery_error)
        self._loads = LoadReaders(self._client, clock, count_load_error)
        self._clients: dict[EngineTls, httpx.AsyncClient] = {}
        self._authorities: dict[EngineTls, bytes] = {}
        self._retired: dict[httpx.AsyncClient, asyncio.Task[None]] = {}
        self._probers: dict[Replica, tuple[Prober, asyncio.Task[None]]] = {}

    def discover(self, pool: Pool, discovery: Discovery | None) -> None:
        """Look for the pool's replicas as `discovery` says; None: no longer."""
        # Those that are known have a new configuration now.
        for replica in pool.replicas.values():
            self._loads.follow(pool, replica)
        self._discoverer.discover(pool, discovery)

    def adopt(self, pool: Pool, replica: Replica) -> None:
        """Start to probe it, and to read its load if that is configured."""
        prober = Prober(self._client, pool, replica, self._connections, self._clock, self._pace)
        self._probers[replica] = prober, asyncio.create_task(prober.run(), name=f"probe {replica.url}")
        self._loads.follow(pool, replica)

    def dismiss(self, replica: Replica) -> None:
        """Stop asking it anything and close its idle connections."""
        self._loads.forget(replica)
        _, task = self._probers.pop(replica)
        task.cancel()
        self._connections.forget(replica)

    def suspect(self, replica: Replica) -> None:
        """A request failed on it: probe it now."""
        known = self._probers.get(replica)
        if known:
            known[0].hurry()

    async def close(self) -> None:
        """Stop all looking and asking."""
        await self._discoverer.close()
        await self._loads.close()
        probing = [task for _, task in self._probers.values()]
        for task in probing:
            task.cancel()
        await asyncio.gather(*probing, return_exceptions=True)
        for retiring in self._retired.values():
            retiring.cancel()
        for client in (*self._clients.values(), *self._retired):
            await client.aclose()
        self._connections.close()

    def reload_certificates(self) -> None:
        """Read the files of certificate authorities anew where they have changed, for connections from now on."""
        replicas = self._probers.keys()
        used = {replica.config.tls for replica in replicas}
        seconds = max((replica.health.settings.timeout for replica in replicas), default=0.0)
        for tls, client in list(self._clients.items()):
            now = _authorities(tls)
            if tls in used and now == self._authorities[tls]:
                continue
            tls_context.cache_clear()
            self._authorities[tls] = now
            del self._clients[tls]
            # No probe takes longer than twice its timeout.
            self._retired[client] = asyncio.create_task(self._close_later(client, 2 * seconds + 1))

    async def _close_later(self, client: httpx.AsyncClient, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await client.aclose()
        del self._retired[client]

    def _client(self, tls: EngineTls) -> httpx.AsyncClient:
        # A new connection for each probe: whether the engine accepts one is part of the question.
        client = self._clients.get(tls)
        if client is None:
            # Before the context is made of the files: if they change in between, the next reload makes another.
            self._authorities.setdefault(tls, _authorities(tls))
            limits = httpx.Limits(max_keepalive_connections=0)
            client = httpx.AsyncClient(verify=tls_context(tls), limits=limits, trust_env=False, follow_redirects=False)
            self._clients[tls] = client
        return client


def _authorities(tls: EngineTls) -> bytes:
    """A digest of what engines' certificates are checked against; empty where that can't be read."""
    path = tls.ca_file or ssl.get_default_verify_paths().cafile
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest() if path else b""
    except OSError:
        return b""
