"""A client that writes raw bytes, for what no HTTP library would send or forgive."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import httptools
import msgspec

from tests.support.exchange import reset


@dataclass
class Response:
    """A response as it came off the socket; `complete` is False when the connection ended before it did."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    complete: bool = False
    version: str = ""
    informational: list[int] = field(default_factory=list)

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The OpenAI-shaped error of the body. Raises AssertionError if it is not one."""
        return openai_error(self.json())


def openai_error(value: Any) -> dict[str, Any]:
    """The error object inside, after checking its shape."""
    assert isinstance(value, dict), value
    error = value["error"]
    assert set(error) >= {"message", "type", "param", "code"}, error
    assert isinstance(error["message"], str)
    assert error["message"]
    assert isinstance(error["type"], str)
    return dict(error)


class _Parser:
    """Feeds one connection's bytes into responses, one after the other."""

    def __init__(self) -> None:
        self.current = Response()
        self.finished: list[Response] = []
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.current.headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self.current.status = self._parser.get_status_code()
        self.current.version = self._parser.get_http_version()

    def on_body(self, body: bytes) -> None:
        self.current.body += body

    def on_message_complete(self) -> None:
        if 100 <= self.current.status < 200:
            self.current = Response(informational=[*self.current.informational, self.current.status])
            return
        self.current.complete = True
        self.finished.append(self.current)
        self.current = Response()


class RawClient:
    """One TCP connection to 127.0.0.1."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = _Parser()
        self.received = b""
        self.ended = False  # the other side has closed

    @classmethod
    async def open(cls, port: int) -> Self:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(reader, writer)

    async def send(self, data: bytes) -> None:
        """Writes; raises ConnectionError when the other side has gone."""
        self._writer.write(data)
        await self._writer.drain()

    async def send_pieces(self, pieces: Iterable[bytes], gap: float) -> int:
        """Writes the pieces `gap` seconds apart until done or the other side ends; returns how many went."""
        sent = 0
        for piece in pieces:
            if self._reader.at_eof():
                break
            try:
                await self.send(piece)
            except ConnectionError:
                break
            sent += 1
            await asyncio.sleep(gap)
        return sent

    async def _receive(self) -> None:
        try:
            data = await self._reader.read(65536)
        except ConnectionError:
            data = b""
        if data:
            self.received += data
            self._parser.feed(data)
        else:
            self.ended = True

    async def response(self, seconds: float = 5.0) -> Response:
        """The next response, whole or cut short. Raises TimeoutError when neither end comes."""
        async with asyncio.timeout(seconds):
            while not self._parser.finished and not self.ended:
                await self._receive()
        if self._parser.finished:
            return self._parser.finished.pop(0)
        short, self._parser.current = self._parser.current, Response()
        # Only the end of the connection ends such a body.
        delimited = {"content-length", "transfer-encoding"} & {name.lower() for name, _ in short.headers}
        short.complete = short.status != 0 and not delimited
        return short

    async def read_until(self, mark: bytes, seconds: float = 5.0) -> bytes:
        """Everything received so far, once the mark is in it. Raises AssertionError if the connection ends first."""
        async with asyncio.timeout(seconds):
            while mark not in self.received:
                assert not self.ended, f"ended before {mark!r}: {self.received!r}"
                await self._receive()
        return self.received

    async def read_bytes(self, count: int, seconds: float = 5.0) -> None:
        """Reads until so many bytes have been received. Raises AssertionError if the connection ends first."""
        async with asyncio.timeout(seconds):
            while len(self.received) < count:
                assert not self.ended, f"ended after {len(self.received)} bytes"
                await self._receive()

    async def wait_closed(self, seconds: float = 5.0) -> None:
        """Waits for the other side to close. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not self.ended:
                await self._receive()

    def half_close(self) -> None:
        """Sends no more; nothing happens where the other side has ended the connection already."""
        with contextlib.suppress(OSError):
            self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        """Ends the connection with RST."""
        transport = self._writer.transport
        if not transport.is_closing():
            reset(transport)


@asynccontextmanager
async def raw_client(port: int) -> AsyncIterator[RawClient]:
    """A connection that is closed at the end."""
    client = await RawClient.open(port)
    try:
        yield client
    finally:
        client.close()


def request_bytes(
    body: bytes,
    path: str = "/v1/chat/completions",
    method: str = "POST",
    headers: Iterable[tuple[str, str]] = (("content-type", "application/json"),),
    length: bool = True,
    version: str = "1.1",
) -> bytes:
    """A request, with its Content-Length unless told otherwise."""
    lines = [f"{method} {path} HTTP/{version}", "host: gateway.test", *(f"{name}: {value}" for name, value in headers)]
    if length:
        lines.append(f"content-length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


async def exchange(port: int, data: bytes, seconds: float = 5.0) -> Response:
    """Sends the bytes on a new connection and returns the response."""
    async with raw_client(port) as client:
        await client.send(data)
        return await client.response(seconds)
