"""The client's side of one request: its body, and the news that it has gone away."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from gateway.api.errors import ApiError
from gateway.config import Limits
from gateway.relay.drive import Alarm, Driven, Waker, run

Message = dict[str, Any]
Receive = Callable[[], Coroutine[Any, Any, Message]]
Send = Callable[[Message], Coroutine[Any, Any, None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

# A body slower than this on the whole is refused, however regularly it trickles.
_BODY_BYTES_PER_SECOND = 1024
# A timer that is later than this tells of a process that stood still.
_PUNCTUAL_SECONDS = 0.1


class Connection(Protocol):
    """The client's connection: tells of its loss at once, where ASGI would want a task that waits for it."""

    loop: asyncio.AbstractEventLoop
    lost: bool
    on_lost: Callable[[], None] | None

    def whole_body(self) -> bytes | None:
        """The request's body, if all of it has come; None: use ASGI's `receive`."""
        ...

    def respond(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole response. False: nothing sent, use ASGI's `send`."""
        ...

    def write_chunks(self, data: bytes) -> bool:
        """Write whole chunks of a chunked response's body as they are. False: nothing written, use ASGI's `send`."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


class ClientGoneError(Exception):
    """The client closed its connection."""


class Client:
    """One request's client. `gone` turns true, and `waker` is woken, when it leaves before the response is complete.

    `started`: the head of a response has gone out.
    """

    __slots__ = ("_connection", "_receive", "gone", "respond", "send", "started", "waker", "write_chunks")

    def __init__(self, scope: Message, receive: Receive, send: Send) -> None:
        """`receive` and `send` are ASGI's; `connection` is `gateway.server`'s extension of it."""
        self._receive = receive
        self._connection: Connection = scope["extensions"]["spillway.connection"]
        self.send = send
        self.respond = self._connection.respond
        self.write_chunks = self._connection.write_chunks
        self.waker = Waker(self._connection.loop)
        self.gone = False
        self.started = False

    def whole_body(self, limits: Limits) -> bytes | None:
        """The body if all of it has come; None: wait for `body`.

        Raises:
            ApiError: 413 over `limits.body_bytes`.
        """
        body = self._connection.whole_body()
        if body is not None and len(body) > limits.body_bytes:
            raise _too_large(limits)
        return body

    async def body(self, declared: bytes | None, limits: Limits) -> bytes:
        """Read the whole body.

        Raises:
            ApiError: 413 over `limits.body_bytes`, 408 if it comes too slowly.
            ClientGoneError: the client left before its end.
        """
        if declared and declared.isdigit() and int(declared) > limits.body_bytes:
            raise _too_large(limits)
        parts: list[bytes] = []
        size = 0
        started = 0.0
        while True:
            reading = run(self._receive(), self.waker.wake)
            if isinstance(reading, Driven):
                loop = self._connection.loop
                started = started or loop.time()
                patience = started + size / _BODY_BYTES_PER_SECOND + limits.body_seconds - loop.time()
                patience = max(0.0, min(patience, limits.body_seconds))
                if await self._finish(reading, patience, limits.body_seconds):
                    started = loop.time() - size / _BODY_BYTES_PER_SECOND
                message = reading.value
            else:
                message = reading
            if message is None or message["type"] == "http.disconnect":
                raise ClientGoneError
            part = message.get("body", b"")
            size += len(part)
            if size > limits.body_bytes:
                raise _too_large(limits)
            if not message.get("more_body"):
                return b"".join((*parts, part)) if parts else part
            parts.append(part)

    def watch(self) -> None:
        """From now on notice when the client leaves."""
        self._connection.on_lost = self._left
        if self._connection.lost:
            self._left()

    def unwatch(self) -> None:
        """The response is about to be complete."""
        self._connection.on_lost = None

    def abort(self) -> None:
        """Close the connection short, so that the client sees a response cut off rather than one that looks whole."""
        self._connection.abort()

    def _left(self) -> None:
        self.gone = True
        self.waker.wake()

    async def _finish(self, reading: Driven[Message], seconds: float, anew: float) -> bool:
        """Returns whether the process stood still: it has not read what came meanwhile, and waits `anew`."""
        loop = self._connection.loop
        stood = False
        try:
            deadline = loop.time() + seconds
            while not await self._done(reading, seconds):
                if loop.time() - deadline < _PUNCTUAL_SECONDS:
                    raise ApiError(
                        408,
                        "The request's body came too slowly. Send it without pauses.",
                        code="request_timeout",
                        headers=((b"connection", b"close"),),
                    )
                stood, seconds = True, anew
                deadline = loop.time() + seconds
        finally:
            if not reading.done:
                reading.close()
        return stood

    async def _done(self, reading: Driven[Message], seconds: float) -> bool:
        alarm = Alarm(self._connection.loop, seconds, self.waker.wake)
        try:
            while not reading.done and not alarm.rung:
                await self.waker.wait()
        finally:
            alarm.cancel()
        return reading.done


def _too_large(limits: Limits) -> ApiError:
    return ApiError(
        413,
        f"The body is larger than {limits.body_bytes} bytes. Send less, or have limits.body_bytes raised.",
        code="request_too_large",
        headers=((b"connection", b"close"),),
    )
