"""A client as the relay meets it through ASGI: it takes what is sent, may stop reading, may leave."""

import asyncio
from collections.abc import Callable
from typing import Any

from gateway.relay.client import Client, Message
from tests.support.wire import unchunk


class Downstream:
    """Also the connection below it. While `stalled`, `send` waits, as uvicorn's does with a full socket.

    `takes_whole`: it does in one step what can be done so (bodies that are whole), rather than in ASGI's messages.
    """

    takes_whole = True

    def __init__(self, *parts: bytes) -> None:
        """`parts` of the request's body, as `receive` gives them."""
        self.loop = asyncio.get_running_loop()
        self.on_lost: Callable[[], None] | None = None
        self.lost = False
        self.aborted = False
        self.messages: list[Message] = []
        self.failure: Exception | None = None  # raised by the next `send` in place of sending
        self.takes_chunks = True
        self.passed_by = 0  # reads that were written without `send`
        self._sending = False
        self._parts = list(parts)
        self._more = not parts
        self._writable = asyncio.Event()
        self._writable.set()
        self._readable = asyncio.Event()

    def client(self) -> Client:
        """The relay's end of it, watching for its loss."""
        client = Client(self.scope(), self.receive, self.send)
        client.watch()
        return client

    def scope(self, **fields: Any) -> Message:
        """An ASGI scope of a chat request."""
        return {
            "type": "http",
            "method": "POST",
            "path": "/v1/chat/completions",
            "raw_path": b"/v1/chat/completions",
            "query_string": b"",
            "headers": [],
            "extensions": {"spillway.connection": self},
            **fields,
        }

    @property
    def stalled(self) -> bool:
        return not self._writable.is_set()

    def stall(self) -> None:
        """Read nothing more."""
        self._writable.clear()

    def read_on(self) -> None:
        self._writable.set()

    async def send(self, message: Message) -> None:
        assert not self._sending, "a message before the last one was sent"
        self._sending = True
        try:
            while self.stalled and not self.lost:
                await self._writable.wait()
        finally:
            self._sending = False
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        if not self.lost:
            self.messages.append(message)

    async def receive(self) -> Message:
        while not self._parts and not self.lost:
            self._readable.clear()
            await self._readable.wait()
        if self.lost:
            return {"type": "http.disconnect"}
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts) or self._more}

    def trickle(self, part: bytes) -> None:
        """A part of the body arrives."""
        self._parts.append(part)
        self._readable.set()

    def upload(self, part: bytes) -> None:
        """The last part arrives."""
        self._more = False
        self.trickle(part)

    def leave(self) -> None:
        """The connection is lost."""
        self.lost = True
        self._readable.set()
        self._writable.set()
        if self.on_lost is not None:
            self.on_lost()

    def whole_body(self) -> bytes | None:
        if not self.takes_whole or self._more or len(self._parts) > 1 or self.lost:
            return None
        return self._parts.pop() if self._parts else b""

    def respond(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        if not self.takes_whole or self.stalled or self.lost or self.messages or self.failure:
            return False
        self.messages.append({"type": "http.response.start", "status": status, "headers": headers})
        self.messages.append({"type": "http.response.body", "body": body, "more_body": False})
        return True

    def write_chunks(self, data: bytes) -> bool:
        assert not self._sending, "chunks before the last message was sent"
        if not self.takes_chunks or self.stalled or self.lost:
            return False
        self.messages.append({"type": "http.response.body", "body": unchunk(data), "more_body": True})
        self.passed_by += 1
        return True

    def abort(self) -> None:
        self.aborted = True
        self.loop.call_soon(self.leave)

    # What has arrived

    @property
    def status(self) -> int:
        [status] = [message["status"] for message in self.messages if message["type"] == "http.response.start"]
        assert isinstance(status, int)
        return status

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.messages if message["type"] == "http.response.body")

    @property
    def complete(self) -> bool:
        """Whether the response has ended, and nothing came after its end."""
        ends = [number for number, message in enumerate(self.messages) if message.get("more_body") is False]
        assert ends in ([], [len(self.messages) - 1])
        return bool(ends)
