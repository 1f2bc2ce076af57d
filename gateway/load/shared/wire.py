"""One connection to Redis: commands out, replies in, in order.

redis-py's own connections await each reply in a task of the caller's, with a timeout of its own, which costs more than
all else that a decision does; a request must not wait in such a task at all. redis-py still finds the servers.
"""

import asyncio
import os
import ssl
from collections import deque
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import cast

import hiredis

from gateway.config import Redis, RedisTls
from gateway.load.shared.command import Command, pack
from gateway.load.shared.where import Address

Reply = Callable[[object], None]
_READ_BYTES = 65536


class RedisFailedError(Exception):
    """Redis can't be used now; says why."""


class Connection(asyncio.Protocol):
    """Sends commands without waiting; each reply goes to the function that was given with its command."""

    def __init__(self, on_lost: Callable[[str], None]) -> None:
        """`on_lost` is told once why the connection has ended, unless `close` ended it."""
        self._on_lost = on_lost
        self._calls: set[asyncio.Future[object]] = set()
        self._reader = hiredis.Reader(encoding="utf-8", errors="replace")
        self._waiting: deque[Reply] = deque()
        self._transport: asyncio.Transport | None = None
        self._descriptor = -1
        self._local = False
        self._giving = False
        self._closed = False
        self._ended = "the connection was closed"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio. What is sent leaves at once, not at the end of the event loop's turn."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)
        if transport.get_extra_info("sslcontext") is None:
            self._descriptor = transport.get_extra_info("socket").fileno()
        peer = transport.get_extra_info("peername")
        self._local = bool(peer) and ip_address(peer[0]).is_loopback

    def data_received(self, data: bytes) -> None:
        """See asyncio. Whoever is given a reply may look for more: they come after it, one is worked on at a time."""
        self._reader.feed(data)
        if self._giving:
            return
        self._giving = True
        try:
            self._give()
        finally:
            self._giving = False

    def _give(self) -> None:
        while not self._closed:
            try:
                reply = self._reader.gets()
            except hiredis.ProtocolError as error:
                self._lost(f"it does not speak Redis' protocol: {error}")
                return
            if reply is False:
                return
            if not self._waiting:
                # A server without a place for us says so before it is asked anything.
                self._lost(str(reply) if isinstance(reply, hiredis.ReplyError) else "it said something unasked")
                return
            self._waiting.popleft()(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._lost(f"the connection was lost: {exc}" if exc else "the connection was closed")

    def look(self, *, urgent: bool) -> None:
        """Take in replies that have come since the event loop looked; with TLS that is left to the loop.

        The loop finds nothing to read then, which it may at any time. An end and errors are left to it. If it is
        `urgent`, a server on this machine gets the core that it may be waiting for: a busy process keeps one for
        milliseconds.
        """
        # What is closing has given its descriptor back, and it may be another connection's already.
        if self._closed or self._descriptor < 0 or self._transport is None or self._transport.is_closing():
            return
        if urgent and self._local:
            os.sched_yield()
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except OSError:
            return
        if data:
            self.data_received(data)

    def send(self, packed: bytes, on_reply: Reply) -> None:
        """Send a packed command. After the connection has ended nothing is sent, and nothing comes back."""
        if self._transport is not None and not self._closed:
            self._waiting.append(on_reply)
            self._transport.write(packed)

    async def call(self, *commands: Command) -> list[object]:
        """The replies to several commands, sent at once. To be awaited in a task, under a timeout.

        Raises:
            RedisFailedError: one was answered with an error, or the connection ended.
        """
        if self._closed:
            raise RedisFailedError(self._ended)
        loop = asyncio.get_running_loop()
        replies = []
        for command in commands:
            future: asyncio.Future[object] = loop.create_future()
            self._calls.add(future)
            future.add_done_callback(self._calls.discard)
            self.send(pack(command), partial(_settle, future))
            replies.append(future)
        answers = [await reply for reply in replies]
        for answer in answers:
            if isinstance(answer, hiredis.ReplyError):
                raise RedisFailedError(str(answer))
        return answers

    def close(self) -> None:
        """End the connection at once; what is unanswered stays so."""
        self._closed = True
        self._waiting.clear()
        for call in list(self._calls):
            _settle(call, hiredis.ReplyError(self._ended))
        if self._transport is not None:
            self._transport.abort()

    def _lost(self, reason: str) -> None:
        if not self._closed:
            self._ended = reason
            self.close()
            self._on_lost(reason)


def _settle(call: asyncio.Future[object], reply: object) -> None:
    if not call.done():
        call.set_result(reply)


async def connect(
    address: Address, settings: Redis, script: str, name: str, on_lost: Callable[[str], None]
) -> Connection:
    """Connect, log in and load the script. To be awaited under a timeout; what was opened is closed if it fails.

    Raises:
        RedisFailedError: Redis refused what it was asked.
        OSError: the connection can't be opened.
    """
    host, port = address
    context = tls_context(settings.tls) if settings.urls[0].startswith("rediss") else None
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: Connection(on_lost), host, port, ssl=context, server_hostname=host if context else None
    )
    commands: list[Command] = []
    if settings.password is not None:
        commands.append(("AUTH", *([settings.username] if settings.username else []), settings.password))
    if settings.database:
        commands.append(("SELECT", settings.database))
    try:
        await connection.call(*commands, ("CLIENT", "SETNAME", name), ("SCRIPT", "LOAD", script))
    except BaseException:
        connection.close()
        raise
    return connection


def tls_context(tls: RedisTls) -> ssl.SSLContext:
    """How certificates are checked; the file is read anew for each connection, so that a renewed one counts."""
    context = ssl.create_default_context(cafile=Path(tls.ca_file) if tls.ca_file else None)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
