"""What stands between uvicorn's response cycle and the socket. Each serves one response that has a body."""

from collections.abc import Callable
from typing import Any


class HeadWithBody:
    """Holds the head until what follows it, then steps aside.

    uvicorn writes them apart, which costs a system call and a packet for each response.
    """

    def __init__(self, transport: Any, close: Callable[[], None]) -> None:
        """`close` ends the connection when the response has said that it does."""
        self._transport = transport
        self._close = close
        self._head = b""
        self.is_closing: Callable[[], bool] = transport.is_closing
        self.write: Callable[[bytes], None] = self._write_head

    def close(self) -> None:
        """Write what is held, and close."""
        if self._head:
            self._transport.write(self._head)
        self._close()

    def _write_head(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1 100 "):
            self._transport.write(data)
            return
        self._head = data
        self.write = self._write_first_body

    def _write_first_body(self, data: bytes) -> None:
        head, self._head = self._head, b""
        self.write = self._transport.write
        self._transport.write(head + data)


class Unchunked:
    """For a client of HTTP/1.0, which knows no chunks: the body ends with the connection (RFC 9112, section 7.1)."""

    _CODING = b"transfer-encoding: chunked\r\n"

    def __init__(self, transport: Any, close: Callable[[], None]) -> None:
        """`close` ends the connection; uvicorn keeps none alive that speaks HTTP/1.0."""
        self._transport = transport
        self.close = close
        self.is_closing: Callable[[], bool] = transport.is_closing
        self.write: Callable[[bytes], None] = self._write_head

    def _write_head(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1 100 "):
            return
        chunked = self._CODING in data
        self.write = self._write_chunk if chunked else self._transport.write
        self._transport.write(data.replace(self._CODING, b"", 1))

    def _write_chunk(self, data: bytes) -> None:
        # uvicorn frames one piece of the body at a time: size, CRLF, body, CRLF, and at the end 0, CRLF, CRLF.
        size, _, rest = data.partition(b"\r\n")
        if size:
            self._transport.write(rest[: int(size, 16)])
