"""The measuring client on asyncio: one protocol object a connection, no task or stream object per read."""

import asyncio
import time
from typing import cast

from loadtest.client.exchange import Exchange
from loadtest.client.sample import Sample
from loadtest.client.target import Ask, Target

# A server may close what is idle just as it is used again. None has been seen to close so early.
IDLE_SECONDS = 1.0


class AsyncClient:
    """Sends requests to one server, each on a connection that no other uses meanwhile. Use it as a context manager."""

    def __init__(self, target: Target, *, timeout: float = 600.0) -> None:
        """`timeout`: seconds a request may take in all."""
        self.target = target
        self._timeout = timeout
        self._idle: list[_Connection] = []

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        while self._idle:
            self._idle.pop().close()

    async def ask(self, ask: Ask, scheduled: float | None = None) -> Sample:
        """Sends one request and follows it to its end. Never raises for what the server does.

        `scheduled`: when it was due, on the clock of `time.perf_counter`; None for now.
        """
        exchange = Exchange(ask, time.perf_counter() if scheduled is None else scheduled)
        try:
            async with asyncio.timeout(self._timeout):
                await self._follow(ask, exchange)
        except TimeoutError:
            exchange.timed_out(time.perf_counter(), self._timeout)
        except OSError as error:
            exchange.refused(time.perf_counter(), str(error) or type(error).__name__)
        return exchange.sample()

    async def _follow(self, ask: Ask, exchange: Exchange) -> None:
        connection = self._reused() or await self._connected()
        try:
            await connection.carry(ask.encode(self.target), exchange)
        finally:
            if exchange.reusable and connection.alive:
                connection.idle_since = time.perf_counter()
                self._idle.append(connection)
            else:
                connection.close()

    def _reused(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.alive and time.perf_counter() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _connected(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        target = self.target
        _, connection = await loop.create_connection(_Connection, target.host, target.port, ssl=target.context)
        return connection


class _Connection(asyncio.Protocol):
    """Moves bytes between a transport and the exchange that it carries."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self.alive = False
        self.idle_since = 0.0
        self._exchange: Exchange | None = None
        self._ended: asyncio.Future[None] | None = None

    async def carry(self, request: bytes, exchange: Exchange) -> None:
        """Returns once the exchange is done."""
        self._exchange = exchange
        self._ended = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(request)
            exchange.sent(time.perf_counter())
            if not self.alive:
                exchange.eof(time.perf_counter())
            if not exchange.done:
                await self._ended
        finally:
            self._exchange = self._ended = None

    def close(self) -> None:
        """Drops the connection at once, unsent and unread bytes included."""
        self.alive = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance
        self.alive = True

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if self._exchange is None:
            self.close()  # a server that speaks unasked
            return
        self._exchange.feed(data, now)
        self._wake()

    def eof_received(self) -> None:
        self._lost("the server closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(f"the connection was lost ({exc})" if exc else "the connection was closed")

    def _lost(self, detail: str) -> None:
        self.alive = False
        if self._exchange is not None:
            self._exchange.eof(time.perf_counter(), detail)
            self._wake()

    def _wake(self) -> None:
        if self._exchange is not None and self._exchange.done and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
