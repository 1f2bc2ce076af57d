"""Both ends of an `EngineConnection` without a socket: the bytes an engine sends, and what the relay takes of them."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

from gateway.relay.chunks import whole_events
from gateway.relay.engine import EngineConnection, EngineError, Headers
from tests.support.wire import unchunk


class Taken:
    """A sink that holds what came and that it came in order."""

    def __init__(self, *, takes_chunks: bool = False) -> None:
        self.status = 0
        self._takes_chunks = takes_chunks
        self.headers: Headers = []
        self.reads: list[bytes] = []
        self.ended = False
        self.error: EngineError | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self.reads)

    @property
    def over(self) -> bool:
        return self.ended or self.error is not None

    def on_head(self, status: int, headers: Headers) -> None:
        # An assertion would be taken for a fault of the engine, as this is called by the parser.
        self.status, self.headers = status if not self.status and not self.over else -1, headers

    def on_data(self, data: bytes) -> None:
        assert self.status
        assert data
        assert not self.over
        self.reads.append(data)

    def on_chunks(self, data: bytes) -> bool:
        assert self.status
        assert not self.over
        if not self._takes_chunks or not whole_events(data):
            return False
        self.reads.append(unchunk(data))
        return True

    def on_end(self) -> None:
        assert self.status
        assert not self.over
        self.ended = True

    def on_error(self, error: EngineError) -> None:
        assert not self.over
        self.error = error


class Books:
    """An owner that notes what becomes of its connection."""

    def __init__(self) -> None:
        self.finished_as: list[bool] = []
        self.losses = 0

    def finished(self, _connection: EngineConnection, *, reusable: bool) -> None:
        self.finished_as.append(reusable)

    def lost(self, _connection: EngineConnection) -> None:
        self.losses += 1


class Wire(asyncio.Transport):
    """The engine's end. As a socket does, it holds back what is sent while reading is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = Books()
        self.connection = EngineConnection(self.owner)
        self.requests = b""
        self.unsent = 0  # bytes of the request that the kernel has not taken yet
        self.reading = True
        self.closed = False
        self._waiting: deque[bytes] = deque()
        self.connection.connection_made(self)

    @property
    def held_back(self) -> int:
        return sum(map(len, self._waiting))

    def request(self, *, takes_chunks: bool = False) -> Taken:
        """Send one and return what will take the response."""
        taken = Taken(takes_chunks=takes_chunks)
        self.connection.send(b"GET / HTTP/1.1\r\n\r\n", b"", taken)
        return taken

    # The engine's doing

    def sends(self, *pieces: bytes) -> None:
        """The engine sends these, each of which arrives in a read of its own."""
        self._waiting.extend(pieces)
        self._flush()

    def sent_before(self, data: bytes) -> None:
        """Bytes that were on their way within the transport when reading was paused, as TLS may hold them."""
        self.connection.data_received(data)

    def ends(self) -> None:
        """It closes its side in an orderly way; asyncio then closes ours."""
        if not self.closed:
            self.connection.eof_received()
            self._lose(None)

    def resets(self) -> None:
        self._lose(ConnectionResetError("reset by peer"))

    # asyncio.Transport

    def write(self, data: Any) -> None:
        self.requests += bytes(data)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        for data in list_of_data:
            self.write(data)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        asyncio.get_running_loop().call_soon(self._flush)

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def _flush(self) -> None:
        while self._waiting and self.reading and not self.closed:
            self.connection.data_received(self._waiting.popleft())

    def _lose(self, cause: Exception | None) -> None:
        self.closed = True
        self.connection.connection_lost(cause)


def bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]
