"""The measuring client on plain sockets, for locust's users: locust makes them cooperative by patching the module."""

import socket
import time
from contextlib import suppress

from loadtest.client.aio import IDLE_SECONDS
from loadtest.client.exchange import Exchange
from loadtest.client.sample import Sample
from loadtest.client.target import Ask, Target

READ_BYTES = 65536


class BlockingClient:
    """One user's connection to one server: requests go over it one after the other. Not for several threads."""

    def __init__(self, target: Target, *, timeout: float = 600.0) -> None:
        """`timeout`: seconds a request may take in all."""
        self.target = target
        self.timeout = timeout
        self._socket: socket.socket | None = None
        self._idle_since = 0.0

    def close(self) -> None:
        """Drops the connection."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None

    def ask(self, ask: Ask, scheduled: float | None = None) -> Sample:
        """Sends one request and follows it to its end. Never raises for what the server does.

        `scheduled`: when it was due, on the clock of `time.perf_counter`; None for now.
        """
        now = time.perf_counter()
        exchange = Exchange(ask, now if scheduled is None else scheduled)
        try:
            self._follow(ask, exchange, now + self.timeout)
        except TimeoutError:
            exchange.timed_out(time.perf_counter(), self.timeout)
        finally:
            if exchange.reusable:
                self._idle_since = time.perf_counter()
            else:
                self.close()
        return exchange.sample()

    def _follow(self, ask: Ask, exchange: Exchange, deadline: float) -> None:
        if time.perf_counter() - self._idle_since >= IDLE_SECONDS:
            self.close()
        try:
            connection = self._socket = self._socket or self._connected(deadline)
        except TimeoutError:
            raise
        except OSError as error:
            exchange.refused(time.perf_counter(), str(error) or type(error).__name__)
            return
        try:
            connection.sendall(ask.encode(self.target))
            exchange.sent(time.perf_counter())
            while not exchange.done:
                connection.settimeout(max(0.001, deadline - time.perf_counter()))
                data = connection.recv(READ_BYTES)
                now = time.perf_counter()
                if data:
                    exchange.feed(data, now)
                else:
                    exchange.eof(now, "the server closed the connection")
        except TimeoutError:
            raise
        except OSError as error:
            exchange.eof(time.perf_counter(), f"the connection was lost ({error})")

    def _connected(self, deadline: float) -> socket.socket:
        target = self.target
        left = max(0.001, deadline - time.perf_counter())
        connection = socket.create_connection((target.host, target.port), left)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = target.context
        return context.wrap_socket(connection, server_hostname=target.host) if context else connection
