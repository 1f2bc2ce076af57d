"""A TCP connection to Redis that can be cut, or go dead without a sign, as in a partition."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from tests.support.threads import EngineThread

Mode = Literal["whole", "cut", "dead"]


class Cable:
    """Passes bytes between a port of its own and another, as `turn` has set it.

    While "dead" it closes nothing and passes nothing; what was sent meanwhile comes late, as over TCP.
    """

    def __init__(self, host: str, port: int) -> None:
        self._mode: Mode = "whole"
        self._alive = asyncio.Event()
        self._alive.set()
        self.port = 0
        self._far = host, port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._drop()

    async def turn(self, mode: Mode) -> None:
        """While "cut" there is no connection, and none comes about."""
        self._mode = mode
        if mode == "dead":
            self._alive.clear()
        else:
            self._alive.set()
        if mode == "cut":
            self._drop()

    def _drop(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode == "cut":
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._far)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer), return_exceptions=True)
        self._writers -= {writer, far_writer}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._alive.wait()
                writer.write(data)
        finally:
            writer.transport.abort()


@contextmanager
def cable(thread: EngineThread, host: str, port: int) -> Iterator[Cable]:
    """An open cable to a port."""
    made = Cable(host, port)
    thread.call(made.open())
    try:
        yield made
    finally:
        thread.call(made.close())
