"""One request and its response on a client's connection, in place of uvicorn's RequestResponseCycle.

It speaks ASGI as that does. It differs where that costs: head and first body bytes leave in one packet, headers are not
searched for what the parsers have refused already, and nothing is made for waiting until somebody waits. The framing
for clients of HTTP/1.0, which know no chunks, is right too (RFC 9112, section 7.1).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

_log = logging.getLogger("uvicorn.error")
_BODILESS = frozenset((204, 304))
_FAILED = b"Internal Server Error"

Message = dict[str, Any]


class Connection(Protocol):
    """The client's connection, as far as a response needs it."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    flow: FlowControl
    lost: bool

    def close_gently(self) -> None:
        """Close after a response."""
        ...

    def on_response_complete(self) -> None:
        """Turn to the next request."""
        ...


class Cycle:
    """`body`, `more_body`, `keep_alive`, `disconnected` and `message_event` are the protocol's to use, as uvicorn does.

    `response_complete`: its last byte has been written. `takes_chunks`: its body is chunked and has begun.
    """

    __slots__ = (
        "_chunked",
        "_connection",
        "_default_headers",
        "_expects_100",
        "_head",
        "_left",
        "_news",
        "_started",
        "_waiting",
        "body",
        "disconnected",
        "keep_alive",
        "more_body",
        "response_complete",
        "scope",
        "takes_chunks",
    )

    def __init__(
        self,
        scope: Message,
        connection: Connection,
        default_headers: list[tuple[bytes, bytes]],
        *,
        expects_100: bool,
        keep_alive: bool,
    ) -> None:
        """`default_headers` go before those of the application."""
        self.scope = scope
        self._connection = connection
        self._default_headers = default_headers
        self._expects_100 = expects_100
        self.keep_alive = keep_alive
        self.body = b""
        self.more_body = True
        self.disconnected = False
        self.response_complete = False
        self.takes_chunks = False
        self._started = False
        self._head = b""
        self._chunked = False
        self._left: int | None = None  # bytes of a body of declared length that are still to come
        self._news = False
        self._waiting: asyncio.Future[None] | None = None

    @property
    def started(self) -> bool:
        """Whether there is a head of a response."""
        return self._started

    @property
    def message_event(self) -> "Cycle":
        """What uvicorn calls `set` on when there is news for `receive`."""
        return self

    def set(self) -> None:
        """There is news for `receive`."""
        self._news = True
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def run(self, app: Callable[[Any, Any, Any], Any]) -> None:
        """Have the application answer. Its failure ends the response; nothing is raised."""
        try:
            await app(self.scope, self.receive, self.send)
        except BaseException as error:
            _log.error("Exception in ASGI application\n", exc_info=error)
        if self.response_complete or self._connection.lost:
            return
        if self._started:
            self._connection.transport.write(self._head)
            self._connection.transport.close()
            return
        headers = [
            (b"content-type", b"text/plain"),
            (b"content-length", b"%d" % len(_FAILED)),
            (b"connection", b"close"),
        ]
        self._start(500, headers)
        self._write(_FAILED, more=False)

    async def receive(self) -> Message:
        """See ASGI."""
        connection = self._connection
        if self._expects_100 and not connection.transport.is_closing():
            self._expects_100 = False
            connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not connection.lost and not self.response_complete:
            connection.flow.resume_reading()
            if not self._news:
                self._waiting = connection.loop.create_future()
                try:
                    await self._waiting
                finally:
                    self._waiting = None
            self._news = False
        if connection.lost or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    def whole_body(self) -> bytes | None:
        """The request's body, if all of it has come and nobody has left: as `receive` would give it in one message."""
        if self.more_body or self._connection.lost or self.response_complete:
            return None
        body, self.body = self.body, b""
        self._news = self._expects_100 = False
        return body

    def respond(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole response, as `send` would in two messages. False: not now, nothing sent."""
        connection = self._connection
        if connection.flow.write_paused or connection.lost or self._started:
            return False
        self._start(status, headers)
        self._write(body, more=False)
        return True

    async def send(self, message: Message) -> None:
        """See ASGI. Header names are in lower case; what a header holds is the application's to check."""
        connection = self._connection
        if connection.flow.write_paused and not connection.lost:
            await connection.flow.drain()
        if connection.lost:
            return
        if message["type"] == "http.response.body" and self._started and not self.response_complete:
            self._write(message.get("body", b""), more=message.get("more_body", False))
        elif message["type"] == "http.response.start" and not self._started:
            self._start(message["status"], message.get("headers", ()))
        else:
            raise RuntimeError(f"ASGI message {message['type']!r} out of order")

    def _start(self, status: int, headers: Any) -> None:
        """Put the head together; it leaves with the first bytes of the body."""
        self._started = True
        self._expects_100 = False
        closes = False
        lines = [STATUS_LINE[status]]
        for name, value in self._default_headers:
            lines += (name, b": ", value, b"\r\n")
        for name, value in headers:
            if name == b"content-length":
                self._left = int(value)
            elif name == b"connection":
                if b"close" in value.lower():
                    self.keep_alive, closes = False, True
            elif name == b"transfer-encoding":
                continue  # the server's own business
            lines += (name, b": ", value, b"\r\n")
        if not self.keep_alive and not closes:
            lines.append(b"connection: close\r\n")
        if status in _BODILESS or self.scope["method"] == "HEAD":
            self._left = 0
        elif self._left is None and self.scope["http_version"] != "1.0":
            self._chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)

    def _write(self, body: bytes, *, more: bool) -> None:
        if self._chunked:
            if body:
                body = b"%x\r\n%b\r\n" % (len(body), body)
            if not more:
                body += b"0\r\n\r\n"
        elif self.scope["method"] == "HEAD":
            body = b""
        elif self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the response's body is not as long as its content-length")
        if self._head:
            body = self._head + body
            self._head = b""
            self.takes_chunks = self._chunked
        connection = self._connection
        connection.transport.write(body)
        if not more:
            self.response_complete = True
            self.takes_chunks = False
            self.set()
            if not self.keep_alive:
                connection.close_gently()
            connection.on_response_complete()
