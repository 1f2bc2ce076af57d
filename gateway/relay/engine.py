"""One HTTP/1.1 connection to an engine: bytes out, parsed responses in, no task and no object per event."""

import asyncio
from typing import Protocol, cast

import httptools

Headers = list[tuple[bytes, bytes]]

# What may come without a byte of a body among it: a head, trailers, chunk extensions.
_BARE_BYTES = 512 * 1024


class EngineError(Exception):
    """An engine could not be reached or broke the exchange off. `answered`: it had sent some of its answer before."""

    def __init__(self, message: str, *, answered: bool = False) -> None:
        """`message` is for the log and names no prompt text."""
        super().__init__(message)
        self.answered = answered


class EngineTimeoutError(EngineError):
    """An engine took the request and sent nothing for too long."""


class Sink(Protocol):
    """Who takes one response. Calls come in this order: head, any number of data, then exactly one of end and error."""

    def on_head(self, status: int, headers: Headers) -> None:
        """Status line and headers have arrived."""
        ...

    def on_data(self, data: bytes) -> None:
        """Bytes of the body, freed of transfer coding."""
        ...

    def on_chunks(self, data: bytes) -> bool:
        """Bytes of a chunked body as they came, beginning with a chunk. False: not taken, parse them."""
        ...

    def on_end(self) -> None:
        """The response is complete; the connection no longer belongs to the sink."""
        ...

    def on_error(self, error: EngineError) -> None:
        """The connection broke before the response was complete."""
        ...


class Owner(Protocol):
    """The pool of connections that this one came from."""

    def finished(self, connection: "EngineConnection", *, reusable: bool) -> None:
        """The exchange is over."""
        ...

    def lost(self, connection: "EngineConnection") -> None:
        """The connection is gone."""
        ...


class EngineConnection(asyncio.Protocol):
    """A keep-alive connection that carries one exchange at a time."""

    __slots__ = (
        "_at_chunk",
        "_bare_bytes",
        "_body",
        "_complete",
        "_head",
        "_headers",
        "_keep_alive",
        "_owner",
        "_parser",
        "_sink",
        "_status",
        "_transport",
        "idle_since",
        "reads",
        "reused",
    )

    def __init__(self, owner: Owner) -> None:
        """A protocol for `loop.create_connection`."""
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._sink: Sink | None = None
        self._body: list[bytes] = []
        self._headers: Headers = []
        self._head: Headers = []
        self._bare_bytes = 0
        self._at_chunk = False  # the parser stands between two chunks: whole ones may pass it by
        self._status = 0
        self._complete = False
        self._keep_alive = False
        self.reads = 0
        self.reused = False
        self.idle_since = 0.0

    @property
    def usable(self) -> bool:
        """Whether a request may be sent on it."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, head: bytes, body: bytes, sink: Sink) -> None:
        """Send a request; the response goes to `sink`."""
        assert self._transport is not None
        self._sink = sink
        self._complete = False
        self._status = 0
        self._headers = []
        self._bare_bytes = 0
        self._at_chunk = False
        if len(body) < 65536:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))

    def pause_reading(self) -> None:
        """Read nothing more until `resume_reading`: the client is slower than the engine."""
        if self.usable and self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        if self.usable and self._transport is not None:
            self._transport.resume_reading()

    def abandon(self) -> None:
        """Close at once, so that the engine aborts; the sink hears nothing more."""
        self._sink = None
        self.close()

    def fail(self, error: EngineError) -> None:
        """Close at once, as if the engine had broken the connection."""
        self._break(error)

    def close(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol. All body bytes of one read go to the sink in one call."""
        self.reads += 1
        sink = self._sink
        if self._at_chunk and sink is not None and sink.on_chunks(data):
            return
        self._bare_bytes += len(data)
        if self._bare_bytes > _BARE_BYTES:
            self._break(EngineError("headers or trailers too large", answered=True))
            return
        if sink is None:
            self.close()  # an answer to no question: out of step
            return
        broken: EngineError | None = None
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            broken = EngineError(f"not HTTP: {error}", answered=True)
            self._keep_alive = False
        if self._at_chunk and not data.endswith(b"\r\n"):
            self._at_chunk = False  # the parser has seen the beginning of the next one
        body = self._body
        if body:
            self._body = []
            self._bare_bytes = 1
            sink.on_data(body[0] if len(body) == 1 else b"".join(body))
        if self._sink is not sink:
            return
        if self._complete:
            self._finish(sink)
        elif broken is not None:
            self._break(broken)

    def eof_received(self) -> None:
        """See asyncio.Protocol. The end of a body that has neither length nor chunks."""
        sink = self._sink
        if sink is not None and self._status and not self._complete and not self._framed():
            self._complete = True
            self._keep_alive = False
            self._finish(sink)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._owner.lost(self)
        if self._sink is not None:
            detail = f"{type(exc).__name__}: {exc}" if exc else "closed by the engine"
            self._break(EngineError(detail, answered=self._bare_bytes > 0))

    # httptools

    def on_message_begin(self) -> None:
        """A response begins; a second one to one request puts the connection out of step."""
        if self._complete:
            self._keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header of the response, or a trailer, which is dropped."""
        if not self._status:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is whole. Interim (1xx) answers are dropped."""
        status = self._parser.get_status_code()
        headers, self._headers = self._headers, []
        if not 100 <= status <= 599:
            raise ValueError(f"status {status}")
        if status < 200 or self._complete:
            return
        self._status, self._head = status, headers
        if self._sink is not None:
            self._sink.on_head(status, headers)

    def on_chunk_header(self) -> None:
        """The size of a chunk has been read."""
        self._at_chunk = False

    def on_chunk_complete(self) -> None:
        """A chunk is whole."""
        self._at_chunk = True

    def on_body(self, data: bytes) -> None:
        """Body bytes."""
        if not self._complete:
            self._body.append(data)

    def on_message_complete(self) -> None:
        """The response is whole."""
        self._at_chunk = False
        if self._status and not self._complete:
            self._complete = True
            self._keep_alive = self._parser.should_keep_alive()

    def _framed(self) -> bool:
        return any(name in (b"content-length", b"transfer-encoding") for name, _ in self._head)

    def _finish(self, sink: Sink) -> None:
        self._sink = None
        transport = self._transport
        sent = transport is not None and transport.get_write_buffer_size() == 0
        reusable = self._keep_alive and sent and self.usable
        self._owner.finished(self, reusable=reusable)
        if not reusable:
            self.close()
        sink.on_end()

    def _break(self, error: EngineError) -> None:
        sink, self._sink = self._sink, None
        self.close()
        if sink is not None:
            sink.on_error(error)
