"""The connections to one replica: keep-alive, last in first out."""

import asyncio
import ssl
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from gateway.config import EngineTls
from gateway.pools import Replica
from gateway.relay.engine import EngineConnection, EngineError

# uvicorn, under SGLang and vLLM, closes a connection that was idle for 5 s: don't be there when it happens.
_IDLE_SECONDS = 4.0
_IDLE_CONNECTIONS = 256


class Upstream:
    """Opens, keeps and closes the connections to a replica. Invariant: each is in `idle`, in `active`, or closed."""

    def __init__(self, replica: Replica, clock: Callable[[], float]) -> None:
        """`clock` gives monotonic seconds."""
        parts = urlsplit(replica.url)
        self._replica = replica
        self._clock = clock
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        self._idle: list[EngineConnection] = []
        self._active: set[EngineConnection] = set()
        self._closed = False
        self._past_reads = 0
        self.prefix = parts.path.rstrip("/").encode()
        self.host_header = b"host: " + parts.netloc.encode("idna" if not parts.netloc.isascii() else "ascii") + b"\r\n"

    def reuse(self) -> EngineConnection | None:
        """A connection that was kept alive, or None."""
        newest = self._clock() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since >= newest:
                connection.reused = True
                self._active.add(connection)
                return connection
            self._drop(connection)
        return None

    async def connect(self, seconds: float) -> EngineConnection:
        """Open a connection.

        Raises:
            EngineError: refused, unreachable, not within `seconds`, or TLS failed.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: EngineConnection(self),
                    self._host,
                    self._port,
                    ssl=tls_context(self._replica.config.tls) if self._tls else None,
                )
        except TimeoutError as error:
            raise EngineError(f"no connection within {seconds:g} s") from error
        except OSError as error:
            raise EngineError(f"{type(error).__name__}: {error}") from error
        self._active.add(connection)
        return connection

    def progress(self) -> int:
        """A number that grows with every read from the engine."""
        return self._past_reads + sum(connection.reads for connection in self._active)

    def abort_active(self) -> None:
        """Break the connections in use: the engine is gone and will not answer on them."""
        for connection in list(self._active):
            # `answered`, since the connection was not stale: on a fresh one the same request would hang as well.
            connection.fail(EngineError("the engine stopped answering", answered=True))
        self._close_idle()

    def close(self) -> None:
        """Close idle connections and let those in use close when they are done."""
        self._closed = True
        self._close_idle()

    def finished(self, connection: EngineConnection, *, reusable: bool) -> None:
        """An exchange is over: keep the connection if it may be used again."""
        self._retire(connection)
        if reusable and not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
            connection.idle_since = self._clock()
            self._idle.append(connection)
        elif reusable:
            connection.close()

    def lost(self, connection: EngineConnection) -> None:
        """A connection is gone."""
        self._retire(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _retire(self, connection: EngineConnection) -> None:
        if connection in self._active:
            self._active.discard(connection)
            self._past_reads += connection.reads
            connection.reads = 0

    def _close_idle(self) -> None:
        while self._idle:
            self._drop(self._idle.pop())

    @staticmethod
    def _drop(connection: EngineConnection) -> None:
        connection.close()


@lru_cache(maxsize=64)
def tls_context(tls: EngineTls) -> ssl.SSLContext:
    """The context that checks an engine's certificate. Raises OSError or ssl.SSLError for a bad ca_file."""
    ca_file: Path | None = tls.ca_file
    context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
