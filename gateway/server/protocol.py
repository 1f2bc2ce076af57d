"""uvicorn's HTTP protocol with what it leaves open: bounds on the size and the time of a request's head, errors in
OpenAI's shape, a leaner cycle of request and response, and a handle on the connection for the application.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from gateway.api.errors import error_body
from gateway.config import Limits
from gateway.server.cycle import Cycle
from gateway.server.driver import Driver

_LINGER_SECONDS = 5.0
_REQUESTS_AHEAD = 4
_UPGRADE_HEADERS = frozenset((b"upgrade", b"http2-settings"))


class BoundedProtocol(HttpToolsProtocol):
    """One client connection. `limits`, `refused` and `taskless` are set on a subclass by `bounded_protocol`.

    The application finds it as the ASGI extension `spillway.connection`: it may read `lost`, set `on_lost` and call
    `abort`; and, for the common case at less cost than ASGI's messages, `whole_body`, `respond` and `write_chunks`.
    """

    limits: Callable[[], Limits]
    refused: Callable[[int], None]
    taskless: Callable[[str], bool]
    cycle: Any  # a Cycle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """See uvicorn."""
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._lingering: asyncio.TimerHandle | None = None
        self._deaf = False  # what else comes is not read
        self._idle_since: float | None = None
        self.head_since: float | None = None
        self.lost = False
        self.on_lost: Callable[[], None] | None = None
        self._answering: Cycle | None = None

    def whole_body(self) -> bytes | None:
        """The body of the request being answered, if all of it has come; None: use ASGI's `receive`."""
        return self._answering.whole_body() if self._answering is not None else None

    def respond(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole response. False: nothing sent, use ASGI's `send`."""
        return self._answering is not None and self._answering.respond(status, headers, body)

    def write_chunks(self, data: bytes) -> bool:
        """Write whole chunks of the response's body as they are. False: nothing written, as it can't take them now."""
        cycle = self._answering
        if cycle is None or not cycle.takes_chunks or self.flow.write_paused or self.lost:
            return False
        self.transport.write(data)
        return True

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
        if self._lingering is not None:
            self._lingering.cancel()
        self._lose()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._deaf:
            return
        self._head_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if self._head_bytes > type(self).limits().header_bytes:
            self._refuse_size()

    def on_message_begin(self) -> None:
        """See httptools."""
        self._idle_since = None
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self.head_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """See httptools."""
        most = type(self).limits().header_bytes
        if self._head_bytes > most and self._size_of_head() > most:
            self._refuse_size()
            raise ValueError("request headers too large")
        if self.parser.should_upgrade():
            return  # `_decline_upgrade` has the request parsed again
        self.head_since = None
        version = self.parser.get_http_version()
        before = self.cycle
        self.cycle = Cycle(
            self._scope(version),
            self,
            self.server_state.default_headers,
            expects_100=self.expect_100_continue,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
        )
        self.headers = []  # what comes into it from here on are trailers, which are dropped
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.pipeline.appendleft((self.cycle, self.app))
            self._read_on()

    def on_body(self, body: bytes) -> None:
        """See httptools. Bytes that are no part of a body are bounded; these are."""
        self._head_bytes = 0
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.set()

    def on_message_complete(self) -> None:
        """See httptools. What was read so far is not the next request's head."""
        if self.head_since is not None:
            return  # the head offered an upgrade: see `_decline_upgrade`
        self._head_bytes = 0
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.set()
        self._read_on()

    def on_response_complete(self) -> None:
        """See uvicorn, but a connection that is kept alive sets no timer: `time_out` ends it."""
        self.server_state.total_requests += 1
        # Also while closing: what is not written yet may never be taken.
        self._idle_since = self.loop.time()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._idle_since = None
            self._start_asgi_task(*self.pipeline.pop())

    def overdue(self, now: float) -> bool:
        """Whether the head of a request, or the next request, has been awaited for too long."""
        since, idle = self.head_since, self._idle_since
        if since is not None:
            return now - since > type(self).limits().header_seconds
        return idle is not None and now - idle > self.timeout_keep_alive

    def time_out(self) -> None:
        """Refuse a head that comes too slowly; a connection that never began one, or is idle, is just closed."""
        if self.transport.is_closing():
            self.transport.abort()  # closed before, and the client has not taken the rest
        elif self._head_bytes == 0 or self.head_since is None:
            self.head_since = None
            self._idle_since = self._idle_since or 0.0
            self.transport.close()
        else:
            self._refuse(408, "The request's headers came too slowly. Send them without pauses.", "request_timeout")

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be parsed and close."""
        self._refuse(400, f"{msg} Send HTTP/1.1.", "invalid_http")

    def _scope(self, version: str) -> dict[str, Any]:
        url = self.url
        if url[:1] == b"/" and url[:2] != b"//" and b"#" not in url:
            raw_path, _, query = url.partition(b"?")
        else:
            parsed = httptools.parse_url(url)
            raw_path, query = parsed.path, parsed.query or b""
        path = raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": self.headers,
            "state": self.app_state.copy(),
            "extensions": {"spillway.connection": self},
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
        }

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answering = cycle
        if type(self).taskless(cycle.scope["path"]):
            Driver(cycle.run(app), self.tasks, self.loop)
        else:
            task = self.loop.create_task(cycle.run(app))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)

    def _read_on(self) -> None:
        """Read while a request is served, to hear of the client's loss; no further than a few requests ahead."""
        if len(self.pipeline) < _REQUESTS_AHEAD:
            self.flow.resume_reading()
        else:
            self.flow.pause_reading()

    def _decline_upgrade(self, rest: bytes) -> None:
        """No protocol to change to is offered: have the request parsed again without the offer (RFC 9110, 7.8).

        The parser would take what follows the head for the other protocol.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self._refuse(405, "CONNECT is not served. Send requests for paths.", "method_not_allowed")
            return
        lines = [b"%b %b HTTP/%b\r\n" % (method, self.url, version.encode())]
        for name, value in self.headers:
            if name == b"connection":
                kept = [token.strip() for token in value.split(b",") if token.strip().lower() not in _UPGRADE_HEADERS]
                value = b", ".join(kept)
            if name not in _UPGRADE_HEADERS and (name != b"connection" or value):
                lines.append(b"%b: %b\r\n" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        self._head_bytes = 0
        self.data_received(b"".join((*lines, b"\r\n", rest)))

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_size(self) -> None:
        most = type(self).limits().header_bytes
        self._refuse(431, f"The request's headers are larger than {most} bytes. Send less.", "headers_too_large")

    def _refuse(self, status: int, message: str, code: str) -> None:
        self.head_since = None
        if self._deaf or self.transport.is_closing():
            return
        type(self).refused(status)
        cycle: Cycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self._write_error(status, message, code)
            self._linger()
        elif cycle.more_body and cycle is self._answering and not cycle.started:
            self._deaf = True
            self._write_error(status, message, code)
            self._lose()
            self.transport.close()
        else:
            self.transport.abort()  # a response is under way: nothing may be written into it

    def _write_error(self, status: int, message: str, code: str) -> None:
        body = error_body(status, message, code=code)
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)

    def _lose(self) -> None:
        """To the application the client is gone."""
        self.lost = True
        if self.cycle is not None:
            self.cycle.set()
        if self.on_lost is not None:
            self.on_lost()

    def _linger(self) -> None:
        """Close while the client may still be sending.

        Closing with unread bytes resets the connection, and the client may never see the response: so stop writing, and
        read on for a while without looking (as nginx's lingering_close).
        """
        if not self.transport.can_write_eof():
            self.transport.close()
        elif self._lingering is None and not self.transport.is_closing():
            self._deaf = True
            self._lingering = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)
            self.transport.write_eof()
            self.flow.resume_reading()


def bounded_protocol(
    limits: Callable[[], Limits], refused: Callable[[int], None], taskless: Callable[[str], bool] = lambda _: False
) -> type[BoundedProtocol]:
    """A protocol class for uvicorn's `http` setting.

    `refused` is told the status of each request it turns away. `taskless` says for which paths the application needs no
    asyncio task (see `Driver`).
    """
    return type(
        "BoundedProtocolOfOneServer",
        (BoundedProtocol,),
        {"limits": staticmethod(limits), "refused": staticmethod(refused), "taskless": staticmethod(taskless)},
    )


def time_out_overdue(connections: Iterable[Any], now: float) -> None:
    """Refuse every connection whose request head is overdue, and close those that have been idle for too long."""
    for connection in list(connections):
        if isinstance(connection, BoundedProtocol) and connection.overdue(now):
            connection.time_out()
