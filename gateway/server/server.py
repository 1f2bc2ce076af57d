"""uvicorn, run by us: our sockets, our signals, our drain."""

import asyncio
import contextlib
import math
import socket
from collections.abc import Generator
from typing import Any

import uvicorn

from gateway.config import Listen
from gateway.server.protocol import time_out_overdue

_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 4096
_LOOK_SECONDS = 1.0


class Server(uvicorn.Server):
    """One listening address. It installs no signal handlers: `gateway.app` says when to stop."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        """`listener` is bound and listening."""
        super().__init__(config)
        self._listener = listener

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it listens on."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the application."""
        yield

    async def run_until_stopped(self) -> None:
        """Serve until `stop`, then until the last response has ended or the drain's time is over."""
        overdue = asyncio.create_task(self._time_out_overdue())
        try:
            await self.serve(sockets=[self._listener])
            # uvicorn cancels what outlives the drain; wait for those to let go of their leases.
            await asyncio.gather(*self.server_state.tasks, return_exceptions=True)
        finally:
            overdue.cancel()

    def stop(self, drain_seconds: float) -> None:
        """Accept nothing more; responses under way get `drain_seconds`, rounded up."""
        self.config.timeout_graceful_shutdown = math.ceil(drain_seconds)
        self.should_exit = True

    def reload_certificate(self) -> None:
        """Read the certificate's files again, for connections from now on.

        Raises:
            OSError, ssl.SSLError: they can't be used; the old certificate stays.
        """
        config = self.config
        if config.ssl is not None and config.ssl_certfile is not None:
            config.ssl.load_cert_chain(config.ssl_certfile, config.ssl_keyfile)

    def force(self) -> None:
        """Cut off what is still under way."""
        for task in self.server_state.tasks:
            task.cancel()

    async def _time_out_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _LOOK_SECONDS
            await asyncio.sleep(_LOOK_SECONDS)
            # If the process stood still, what clients sent meanwhile may be unread: the next look tells.
            if loop.time() - due < _LOOK_SECONDS / 2:
                time_out_overdue(self.server_state.connections, loop.time())


def listening_socket(listen: Listen) -> socket.socket:
    """Bind this address and listen.

    Raises:
        OSError: it is taken, or not this machine's.
    """
    family, _, _, _, address = socket.getaddrinfo(
        listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    dualstack = family == socket.AF_INET6 and listen.host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG, dualstack_ipv6=dualstack)
    listener.setblocking(False)
    return listener


def make_server(app: Any, listen: Listen, listener: socket.socket, protocol: type[asyncio.Protocol]) -> Server:
    """A server for `app` on a bound socket."""
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        backlog=_BACKLOG,
        ssl_certfile=str(listen.tls_cert) if listen.tls_cert else None,
        ssl_keyfile=str(listen.tls_key) if listen.tls_key else None,
    )
    return Server(config, listener)
