"""One attempt at one engine: takes the response as it comes and passes it on to the client, pausing the engine when
the client is slower.

While the client keeps up, events go from the engine's `data_received` straight into the server's `send`; the request's
coroutine sleeps until something out of the ordinary happens.
"""

from collections.abc import Callable

from gateway.load import Lease
from gateway.relay.chunks import whole_events
from gateway.relay.client import Client
from gateway.relay.drive import Driven, run
from gateway.relay.engine import EngineConnection, EngineError, Headers
from gateway.relay.sse import EventStream

_PENDING_BYTES = 256 * 1024


class Exchange:
    """Sink of one response. Invariant: bytes leave in the order they came, through `_push` or `deliver`, never both."""

    __slots__ = (
        "_before",
        "_blocked",
        "_direct",
        "_idle",
        "_mark",
        "_passed",
        "_paused",
        "_pending",
        "_pending_bytes",
        "_tail",
        "client",
        "connection",
        "ended",
        "error",
        "events",
        "first_byte",
        "headers",
        "lease",
        "now",
        "sent",
        "status",
        "stream",
    )

    def __init__(self, connection: EngineConnection, client: Client, lease: Lease, now: Callable[[], float]) -> None:
        """The response to the request sent on `connection`. The lease ends when the engine has answered in full."""
        self.connection = connection
        self.client = client
        self.lease = lease
        self.now = now
        self.sent = now()
        self.status = 0
        self.headers: Headers = []
        self.stream: EventStream | None = None
        self.first_byte = 0.0
        self.events = 0
        self._before = self._tail = b""
        self.ended = False
        self.error: EngineError | None = None
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._direct = False
        self._paused = False
        self._blocked: Driven[None] | None = None
        self._passed = 0  # Sends while the client is slow: they show that it still reads.
        self._idle = 0.0
        self._mark = (False, -1)

    @property
    def answering(self) -> bool:
        """Whether the body has begun, or the response is over: the moment to decide between passing on and retrying."""
        return self.first_byte > 0 or self.ended or self.error is not None

    @property
    def tail(self) -> bytes:
        """The last bytes of the body: those of the last two reads, in which the token counts stand."""
        return self.stream.tail if self.stream else self._before + self._tail

    # Sink

    def on_head(self, status: int, headers: Headers) -> None:
        """Held back until the body begins: until then the request can still be given to another engine."""
        self.status = status
        self.headers = headers

    def on_data(self, data: bytes) -> None:
        """Pass it on, or keep it for `deliver`."""
        if self._direct:
            self._push(data)
            return
        if not self.first_byte:
            self.first_byte = self.now()
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > _PENDING_BYTES and not self._paused:
            self._paused = True
            self.connection.pause_reading()
        self.client.waker.wake()

    def on_chunks(self, data: bytes) -> bool:
        """Pass whole events on as they came, chunk framing included, where nothing stands against it."""
        stream = self.stream
        if (
            self._direct
            and stream is not None
            and whole_events(data)
            and stream.passes(data)
            and self.client.write_chunks(data)
        ):
            stream.passed(data)
            self.events += data.count(b"data:")
            return True
        return False

    def on_end(self) -> None:
        """The engine is done with this request, whatever the client still has to read."""
        self.ended = True
        self.lease.release()
        self.client.waker.wake()

    def on_error(self, error: EngineError) -> None:
        """The engine broke off. Before the body the lease is kept: the attempt may go on, on another connection."""
        self.error = error
        if self.first_byte:
            self.lease.release()
        self.client.waker.wake()

    # Delivery

    def whole(self) -> bytes | None:
        """The body, if it is no stream and all of it has come: to be sent in one step, in place of `deliver`."""
        if not self.ended or self.stream is not None:
            return None
        self._tail = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        return self._tail

    async def deliver(self) -> bool:
        """Pass the body on until its end; the head has been sent. False: the engine broke off or the client left."""
        client, send = self.client, self.client.send
        while not client.gone:
            if self._blocked is not None:
                if not self._blocked.done:
                    await client.waker.wait()
                    continue
                if self._blocked.error is not None:
                    raise self._blocked.error
                self._blocked = None
            data = self._take()
            over = self.ended
            if over or self.error is not None:
                if over and self.stream is not None:
                    data += self.stream.finish()
                if over:
                    client.unwatch()
                if data or over:
                    await send({"type": "http.response.body", "body": data, "more_body": not over})
                return over
            if data:
                await send({"type": "http.response.body", "body": data, "more_body": True})
                self._passed += 1
                continue
            if self._paused:
                self._paused = False
                self.connection.resume_reading()
            self._direct = True
            await client.waker.wait()
            self._direct = False
        return False

    def tick(self, seconds: float) -> tuple[float, bool]:
        """Called every `seconds`. Returns how long nothing has moved, and whether that is for the client's sake."""
        on_client = self._blocked is not None or self._paused or self.ended or self.error is not None
        mark = (on_client, self._passed if on_client else self.connection.reads)
        self._idle = self._idle + seconds if mark == self._mark else 0.0
        self._mark = mark
        return self._idle, on_client

    def _take(self) -> bytes:
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if not pending:
            return b""
        return self._filter(pending[0] if len(pending) == 1 else b"".join(pending))

    def _push(self, data: bytes) -> None:
        data = self._filter(data)
        if not data:
            return
        self._blocked = run(
            self.client.send({"type": "http.response.body", "body": data, "more_body": True}), self.client.waker.wake
        )
        if self._blocked is not None:
            self._passed += 1
            self._direct = False
            self._paused = True
            self.connection.pause_reading()

    def _filter(self, data: bytes) -> bytes:
        if self.stream is None:
            self._before, self._tail = self._tail, data
            return data
        self.events += data.count(b"data:")
        return self.stream.feed(data)
