"""uvicorn's HTTP protocol with what it leaves open: bounds on the size and the time of a request's head, errors in
OpenAI's shape, and a way for the application to cut a connection short.
"""

from collections.abc import Callable, Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from gateway.api.errors import error_body
from gateway.config import Limits


class BoundedProtocol(HttpToolsProtocol):
    """One client connection. `limits` and `refused` are set on a subclass by `bounded_protocol`."""

    limits: Callable[[], Limits]
    refused: Callable[[int], None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """See uvicorn."""
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._refusal: tuple[int, str, str] | None = None
        self.head_since: float | None = None

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol. A client that sends nothing is as slow as one that trickles."""
        self.head_since = self.loop.time()
        super().connection_made(transport)

    def on_message_begin(self) -> None:
        """See httptools."""
        super().on_message_begin()
        self._head_bytes = 0
        self.head_since = self.loop.time()
        extensions: dict[str, Any] = {"spillway.abort": self._abort}
        self.scope["extensions"] = extensions

    def on_url(self, url: bytes) -> None:
        """See httptools."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """See httptools."""
        self.head_since = None
        super().on_headers_complete()

    def overdue(self, now: float) -> bool:
        """Whether the head of a request has been awaited for too long."""
        since = self.head_since
        return since is not None and now - since > type(self).limits().header_seconds

    def time_out(self) -> None:
        """Refuse a head that comes too slowly; a connection that never began one is just closed."""
        self.head_since = None
        if self.transport.is_closing():
            return
        if self._head_bytes == 0:
            self.transport.close()
            return
        self._refusal = (408, "The request's headers came too slowly. Send them without pauses.", "request_timeout")
        self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be parsed, or was refused by `_count`, and close."""
        status, message, code = self._refusal or (400, f"{msg} Send HTTP/1.1.", "invalid_http")
        self.head_since = None
        type(self).refused(status)
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()  # a response is under way: nothing may be written into it
            return
        body = error_body(status, message, code=code)
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        most = type(self).limits().header_bytes
        if self._head_bytes > most:
            message = f"The request's headers are larger than {most} bytes. Send less."
            self._refusal = (431, message, "headers_too_large")
            raise ValueError(message)

    def _abort(self) -> None:
        self.transport.abort()


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
