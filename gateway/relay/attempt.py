"""One attempt: get a connection, send the request, wait for the answer to begin, deliver it."""

import asyncio
from collections.abc import Callable
from typing import Literal, NamedTuple

from gateway.api.errors import ApiError, ErrorStyle, style_of
from gateway.models import Grant
from gateway.relay.call import Call
from gateway.relay.client import ClientGoneError
from gateway.relay.engine import EngineConnection, EngineError, EngineTimeoutError
from gateway.relay.errors import broken_event, engine_failed
from gateway.relay.exchange import Exchange
from gateway.relay.headers import downstream_headers, upstream_head
from gateway.relay.rewrite import upstream_body, upstream_form
from gateway.relay.sse import EventStream
from gateway.relay.upstream import Upstream
from gateway.relay.usage import read_tokens
from gateway.relay.watchdog import Watchdog
from gateway.telemetry import RetryReason

# What an engine, or a proxy before it, answers when it can't serve now.
_ELSEWHERE = frozenset((502, 503, 504))
# uvicorn holds a response to its Content-Length, which here is that of another.
_WITHOUT_BODY = frozenset((204, 304))


class Failure(NamedTuple):
    """Nothing has gone to the client yet.

    `kind` is a metric label where the attempt is repeated. `error` is for the client if no other attempt follows;
    None where the engine's own answer can be delivered. A `final` one is not repeated.
    """

    kind: RetryReason | Literal["timeout"]
    error: ApiError | None
    blames_replica: bool = True
    final: bool = False


class Attempt:
    """A granted request on its replica. The lease is the caller's to release; the connection is this object's."""

    def __init__(
        self,
        call: Call,
        grant: Grant,
        upstream: Upstream,
        watchdog: Watchdog,
        clock: Callable[[], float],
    ) -> None:
        """`sent`: when the engine had the request. `connecting`: seconds that new connections took."""
        self._call = call
        self._grant = grant
        self._upstream = upstream
        self._watchdog = watchdog
        self._clock = clock
        self._exchange: Exchange | None = None
        self.sent = 0.0
        self.connecting = 0.0

    async def start(self) -> Failure | None:
        """Send the request and wait until the body of its answer begins. None: `deliver` comes next.

        Raises:
            ClientGoneError: the client left.
        """
        head, body = self._request()
        connection = self._upstream.reuse()
        try:
            exchange = await self._send(connection or await self._connect(), head, body)
            error = exchange.error
            if error and connection and not error.answered and not isinstance(error, EngineTimeoutError):
                # The engine closed an idle connection as we reused it, which says nothing about the engine.
                self._call.record.retries += 1
                exchange = await self._send(await self._connect(), head, body)
        except EngineError as error:
            return Failure("connect", engine_failed(self._call.model.config.name, error))
        if exchange.error:
            told = engine_failed(self._call.model.config.name, exchange.error)
            if isinstance(exchange.error, EngineTimeoutError):
                # The engine works on it for all we know: a second one would work for the same client.
                return Failure("timeout", told, blames_replica=False, final=True)
            return Failure("reset", told)
        if exchange.status in _ELSEWHERE:
            return Failure("status", None)
        return None

    async def deliver(self, extra_headers: list[tuple[bytes, bytes]]) -> EngineError | None:
        """Pass the answer on. Returns the error if the engine broke it off; the client has been told.

        Raises:
            ClientGoneError: the client left.
        """
        exchange, call = self._exchange, self._call
        assert exchange is not None
        record, client = call.record, call.client
        record.status, record.first_byte = exchange.status, exchange.first_byte
        events = _is_event_stream(exchange)
        if events:
            exchange.stream = EventStream(withhold_usage=call.asks_usage)
        keep_length = not events and exchange.status not in _WITHOUT_BODY
        headers = downstream_headers(exchange.headers, keep_length=keep_length) + extra_headers
        try:
            client.started = True
            whole = self._respond(exchange, headers)
            if not whole:
                await client.send({"type": "http.response.start", "status": exchange.status, "headers": headers})
                whole = await exchange.deliver()
                if client.gone and not whole:
                    raise ClientGoneError
        finally:
            self._count(exchange)
        if whole:
            if exchange.status not in _ELSEWHERE:
                self._grant.replica.health.request_succeeded()
            return None
        assert exchange.error is not None
        await self._tell_broken(exchange, exchange.error, style_of(call.scope["path"]))
        return exchange.error

    def _respond(self, exchange: Exchange, headers: list[tuple[bytes, bytes]]) -> bool:
        """Pass a whole answer on in one step; whether that was possible."""
        body, client = exchange.whole(), self._call.client
        if body is None or client.gone or not client.respond(exchange.status, headers, body):
            return False
        client.unwatch()
        return True

    def close(self) -> None:
        """Close the engine's connection if the exchange is not over, so that the engine aborts. Idempotent."""
        exchange = self._exchange
        if exchange is not None:
            self._watchdog.remove(exchange)
            if not exchange.ended and exchange.error is None:
                exchange.connection.abandon()

    def _request(self) -> tuple[bytes, bytes]:
        call, scope, config = self._call, self._call.scope, self._grant.replica.config
        body, name = call.body, config.engine_model or call.model.config.name
        if call.traits.is_json:
            named = name if call.traits.model is not None else None
            body = upstream_body(body, call.traits, ask_usage=call.asks_usage, model=named)
        elif call.traits.form_models:
            body = upstream_form(body, call.traits, name)
        method, query = scope["method"].encode(), scope["query_string"]
        target = self._upstream.prefix + scope["raw_path"] + (b"?" + query if query else b"")
        head = upstream_head(
            b"%b %b HTTP/1.1\r\n" % (method, target),
            scope["headers"],
            host=self._upstream.host_header,
            length=len(body) if body or method not in (b"GET", b"DELETE") else None,
            request=call.request_id,
            trace=call.trace,
            key=config.api_key,
        )
        return head, body

    async def _connect(self) -> EngineConnection:
        started = self._clock()
        # A task, as connecting has a timeout and this coroutine may run without one.
        opening = asyncio.create_task(self._upstream.connect(self._watchdog.limits.connect_seconds))
        try:
            return await opening
        except asyncio.CancelledError:
            opening.add_done_callback(_abandon)
            raise
        finally:
            self.connecting += self._clock() - started

    async def _send(self, connection: EngineConnection, head: bytes, body: bytes) -> Exchange:
        client = self._call.client
        self.close()
        exchange = self._exchange = Exchange(connection, client, self._grant.lease, self._clock)
        self._watchdog.add(exchange)
        if not client.gone:
            connection.send(head, body, exchange)
        self.sent = self.sent or exchange.sent
        while not client.gone:
            if exchange.answering:
                return exchange
            await client.waker.wait()
        raise ClientGoneError

    async def _tell_broken(self, exchange: Exchange, error: EngineError, style: ErrorStyle) -> None:
        client = self._call.client
        if exchange.stream is not None and not exchange.stream.torn:
            client.unwatch()
            event = broken_event(self._call.model.config.name, error, style)
            await client.send({"type": "http.response.body", "body": event, "more_body": False})
            return
        client.abort()
        while not client.gone:
            await client.waker.wait()

    def _count(self, exchange: Exchange) -> None:
        record = self._call.record
        record.prompt_tokens, record.completion_tokens = read_tokens(exchange.tail)
        record.events = exchange.events


def _is_event_stream(exchange: Exchange) -> bool:
    kind, plain = b"", True
    for name, value in exchange.headers:
        if name == b"content-type":
            kind = value
        elif name == b"content-encoding":
            plain = value.lower() == b"identity"
    return plain and kind[:17].lower() == b"text/event-stream"


def _abandon(opening: asyncio.Task[EngineConnection]) -> None:
    """Close a connection that was opened in vain."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().abandon()
