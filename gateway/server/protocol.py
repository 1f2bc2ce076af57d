"""uvicorn's HTTP protocol with what it leaves open: bounds on the size and the time of a request's head, errors in
OpenAI's shape, a leaner cycle of request and response, and a handle on the connection for the application.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from gateway.config import Limits
from gateway.server.cors import CrossOrigin
from gateway.server.cycle import Cycle
from gateway.server.driver import Driver
from gateway.server.ending import EndingProtocol
from gateway.server.head import split_target, without_upgrade
from gateway.server.refusal import (
    CODED,
    CONNECT,
    NO_HOST,
    VERSION,
    Refusal,
    too_large,
    unparsable,
)

_REQUESTS_AHEAD = 4
_NOTED_HEADERS = frozenset((b"expect", b"host", b"transfer-encoding"))


class BoundedProtocol(EndingProtocol):
    """One client connection. What is called on its type is set on a subclass by `bounded_protocol`.

    The application finds it as the ASGI extension `spillway.connection`: it may read `lost`, set `on_lost` and call
    `abort`; and, for the common case at less cost than ASGI's messages, `whole_body`, `respond` and `write_chunks`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """See uvicorn."""
        super().__init__(*args, **kwargs)
        self._most = 0  # bytes of a head
        self._hosts = 0
        self._coded = False  # the body is coded as nobody here can read it

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

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol. A client that sends nothing is as slow as one that trickles."""
        self.head_since = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._deaf:
            return
        self._head_bytes += len(data)
        most = self._most = type(self).limits().header_bytes
        while data:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as upgrade:
                data = self._without_upgrade(data[upgrade.args[0] :])
            except httptools.HttpParserError as error:
                self._refuse(unparsable(error))
                break
        if self._head_bytes > most:
            self._refuse(too_large(most))

    def on_message_begin(self) -> None:
        """See httptools. It may have come in one read with the end of the request before, where counting began anew."""
        self._head_bytes = self._head_bytes or 1
        self._idle_since = None
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self._hosts = 0
        self._coded = False
        self.head_since = self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools."""
        name = name.lower()
        if name in _NOTED_HEADERS:
            if name == b"host":
                self._hosts += 1
            elif name == b"expect":
                self.expect_100_continue = value.lower() == b"100-continue"
            else:
                self._coded = value.lower() != b"chunked"
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """See httptools."""
        most = self._most
        if self._head_bytes > most and self._size_of_head() > most:
            self._refuse_head(too_large(most))
        if self.parser.should_upgrade():
            return  # `_without_upgrade` has the request parsed again
        version = self.parser.get_http_version()
        if version != "1.1" and version != "1.0":
            self._refuse_head(VERSION)
        if self._hosts != 1 and (self._hosts or version == "1.1"):
            self._refuse_head(NO_HOST)
        if self._coded:
            self._refuse_head(CODED)
        self.head_since = None
        before = self.cycle
        scope = self._scope(version)
        cross_origin, headers = type(self).cross_origin(), self.server_state.default_headers
        if cross_origin is not None:
            headers = [*headers, *cross_origin.headers(scope["path"], self.headers)]
        self.cycle = Cycle(
            scope,
            self,
            headers,
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
            return  # the head offered an upgrade: see `_without_upgrade`
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
        elif self._refusal:
            self._turn_away()

    def _scope(self, version: str) -> dict[str, Any]:
        raw_path, query = split_target(self.url)
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
            Driver(cycle.run(app), self.tasks, self.loop, type(self).between)
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

    def _without_upgrade(self, rest: bytes) -> bytes:
        """No protocol to change to is offered: the request without the offer, to be parsed again (RFC 9110, 7.8).

        The parser would take `rest`, which follows the head, for the other protocol.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self._refuse(CONNECT)
            return b""
        data = without_upgrade(method, self.url, version, self.headers) + rest
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._head_bytes = len(data)
        return data

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_head(self, refusal: Refusal) -> NoReturn:
        """Have the parser stop here, too."""
        self._refuse(refusal)
        raise ValueError(refusal.message)


def bounded_protocol(
    limits: Callable[[], Limits],
    refused: Callable[[int], None],
    taskless: Callable[[str], bool] = lambda _: False,
    cross_origin: Callable[[], CrossOrigin | None] = lambda: None,
    between: Callable[[], None] | None = None,
) -> type[BoundedProtocol]:
    """A protocol class for uvicorn's `http` setting.

    `refused` is told the status of each request it turns away. `taskless` says which paths are relayed: there the
    application needs no asyncio task (see `Driver`), and waits for others. `between` is called between the steps of
    such requests.
    """
    called: dict[str, Callable[..., Any]] = {
        "limits": limits,
        "refused": refused,
        "taskless": taskless,
        "cross_origin": cross_origin,
    }
    return type(
        "BoundedProtocolOfOneServer",
        (BoundedProtocol,),
        {name: staticmethod(one) for name, one in called.items()} | {"between": between and staticmethod(between)},
    )


def time_out_overdue(connections: Iterable[Any], now: float) -> None:
    """Refuse every connection whose request head is overdue, and close those that have been idle for too long."""
    for connection in list(connections):
        if isinstance(connection, BoundedProtocol) and connection.overdue(now):
            connection.time_out()
