"""One request at a fake engine, and the bytes that answer it."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

POLL_SECONDS = 0.005


class PeerGoneError(Exception):
    """The peer closed its connection while it was being answered."""


class Gate:
    """Opened once by a test; may be waited for in any thread's loop."""

    def __init__(self) -> None:
        self.is_open = False

    def open(self) -> None:
        self.is_open = True


@dataclass
class Request:
    """What the engine received. Times are time.monotonic() seconds, None until they happen."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    connection: int
    turn: int  # 0 for the first request on its connection
    body: bytes = b""
    received_at: float = field(default_factory=time.monotonic)
    gone_at: float | None = None  # the peer left before the answer was over
    ended_at: float | None = None
    sent: int = 0  # bytes of the answer handed to the kernel or its buffer

    def header(self, name: str) -> str | None:
        """The header's value, several joined as HTTP does, or None."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    def json(self) -> Any:
        """The body decoded; raises ValueError if it is not JSON."""
        return json.loads(self.body)

    async def wait_gone(self, seconds: float = 2.0) -> float:
        """Waits for the peer to leave; returns the time it did. Raises AssertionError after the deadline."""
        deadline = time.monotonic() + seconds
        while self.gone_at is None:
            assert self.ended_at is None, "the answer was over before the peer left"
            assert time.monotonic() < deadline, f"the peer was still there after {seconds} s"
            await asyncio.sleep(POLL_SECONDS)
        return self.gone_at


class Exchange:
    """A request being answered: every method that waits raises PeerGoneError once the peer has left."""

    def __init__(self, request: Request, transport: asyncio.Transport, stalled: Callable[[], bool]) -> None:
        self.request = request
        self._transport = transport
        self._stalled = stalled
        self._gone = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    async def send(self, data: bytes) -> None:
        """Writes, then waits until the socket takes more."""
        while self._stalled():
            await self.sleep(POLL_SECONDS)
        if self._gone.is_set():
            raise PeerGoneError
        self._transport.write(data)
        self.request.sent += len(data)
        await asyncio.sleep(0)  # lets the loop notice that the peer has left, however fast one writes
        await self._writable.wait()
        if self._gone.is_set():
            raise PeerGoneError

    async def sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        except TimeoutError:
            return
        raise PeerGoneError

    async def wait(self, gate: Gate) -> None:
        while not gate.is_open:
            await self.sleep(POLL_SECONDS)

    async def hang(self) -> None:
        """Waits until the peer leaves."""
        await self._gone.wait()
        raise PeerGoneError

    def close(self) -> None:
        """An orderly end of the connection, after what was written."""
        self._transport.close()

    def reset(self) -> None:
        """Ends the connection with RST, losing what is still unsent."""
        reset(self._transport)

    def mark_gone(self) -> None:
        if self.request.gone_at is None and self.request.ended_at is None:
            self.request.gone_at = time.monotonic()
        self._gone.set()
        self._writable.set()

    def set_writable(self, writable: bool) -> None:
        if writable:
            self._writable.set()
        else:
            self._writable.clear()


def reset(transport: asyncio.WriteTransport) -> None:
    """Closes the transport's socket with RST instead of FIN."""
    linger_off = struct.pack("ii", 1, 0)
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_off)
    transport.abort()
