"""uvicorn's HTTP protocol with what it leaves open: bounds on the size and the time of a request's head, errors in
OpenAI's shape, head and first body bytes in one packet, and a handle on the connection for the application.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from gateway.api.errors import error_body
from gateway.config import Limits
from gateway.server.writing import HeadWithBody, Unchunked

_LINGER_SECONDS = 5.0


class BoundedProtocol(HttpToolsProtocol):
    """One client connection. `limits` and `refused` are set on a subclass by `bounded_protocol`.

    The application finds it as the ASGI extension `spillway.connection`: it may read `lost`, set `on_lost` and call
    `abort`.
    """

    limits: Callable[[], Limits]
    refused: Callable[[int], None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """See uvicorn."""
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._lingering: asyncio.TimerHandle | None = None
        self.head_since: float | None = None
        self.lost = False
        self.on_lost: Callable[[], None] | None = None

    def abort(self) -> None:
        """Close at once, dropping what is not sent: the client sees a response cut off."""
        self.transport.abort()

    def close_gently(self) -> None:
        """Close after a response, which may have come before the end of the request's body."""
        if self.cycle is None or not self.cycle.more_body:
            self.transport.close()
        else:
            self._linger()

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol. A client that sends nothing is as slow as one that trickles."""
        self.head_since = self.loop.time()
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        super().connection_lost(exc)
        self.lost = True
        if self._lingering is not None:
            self._lingering.cancel()
        if self.on_lost is not None:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._lingering is not None:
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self.head_since is not None and self._head_bytes > type(self).limits().header_bytes:
            self._refuse_size()

    def on_message_begin(self) -> None:
        """See httptools."""
        super().on_message_begin()
        self.head_since = self.loop.time()
        extensions: dict[str, Any] = {"spillway.connection": self}
        self.scope["extensions"] = extensions

    def on_headers_complete(self) -> None:
        """See httptools."""
        most = type(self).limits().header_bytes
        if self._head_bytes > most and self._size_of_head() > most:
            self._refuse_size()
            raise ValueError("request headers too large")
        self.head_since = None
        super().on_headers_complete()
        if self.scope["method"] != "HEAD":
            wrap = Unchunked if self.scope["http_version"] == "1.0" else HeadWithBody
            self.cycle.transport = cast("Any", wrap(self.transport, self.close_gently))

    def on_message_complete(self) -> None:
        """See httptools. What was read so far is not the next request's head."""
        self._head_bytes = 0
        super().on_message_complete()

    def overdue(self, now: float) -> bool:
        """Whether the head of a request has been awaited for too long."""
        since = self.head_since
        return since is not None and now - since > type(self).limits().header_seconds

    def time_out(self) -> None:
        """Refuse a head that comes too slowly; a connection that never began one is just closed."""
        if self._head_bytes == 0:
            self.head_since = None
            self.transport.close()
        else:
            self._refuse(408, "The request's headers came too slowly. Send them without pauses.", "request_timeout")

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be parsed and close."""
        self._refuse(400, f"{msg} Send HTTP/1.1.", "invalid_http")

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_size(self) -> None:
        most = type(self).limits().header_bytes
        self._refuse(431, f"The request's headers are larger than {most} bytes. Send less.", "headers_too_large")

    def _refuse(self, status: int, message: str, code: str) -> None:
        self.head_since = None
        if self._lingering is not None or self.transport.is_closing():
            return
        type(self).refused(status)
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()  # a response is under way: nothing may be written into it
            return
        body = error_body(status, message, code=code)
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self._linger()

    def _linger(self) -> None:
        """Close while the client may still be sending.

        Closing with unread bytes resets the connection, and the client may never see the response: so stop writing, and
        read on for a while without looking (as nginx's lingering_close).
        """
        if not self.transport.can_write_eof():
            self.transport.close()
        elif self._lingering is None and not self.transport.is_closing():
            self._lingering = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)
            self.transport.write_eof()
            self.flow.resume_reading()


def bounded_protocol(limits: Callable[[], Limits], refused: Callable[[int], None]) -> type[BoundedProtocol]:
    """A protocol class for uvicorn's `http` setting. `refused` is told the status of each request it turns away."""
    return type(
        "BoundedProtocolOfOneServer",
        (BoundedProtocol,),
        {"limits": staticmethod(limits), "refused": staticmethod(refused)},
    )


def time_out_overdue(connections: Iterable[Any], now: float) -> None:
    """Refuse every connection whose request head is overdue."""
    for connection in list(connections):
        if isinstance(connection, BoundedProtocol) and connection.overdue(now):
            connection.time_out()
