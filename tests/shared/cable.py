"""A TCP connection to Redis that can be cut, or go dead without a sign, as in a partition."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from tests.support.threads import EngineThread

Mode = Literal["whole", "cut", "dead"]


class Cable:
    """Passes bytes between a port of its own and another. `mode` may be set from any thread."""

    def __init__(self, port: int) -> None:
        self.mode: Mode = "whole"
        self.port = 0
        self._far = port
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

    async def cut(self) -> None:
        """Every connection ends, and no other comes about, until `mode` is set back."""
        self.mode = "cut"
        self._drop()

    def _drop(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "cut":
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._far)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer), return_exceptions=True)
        self._writers -= {writer, far_writer}

    async def _until_alive(self) -> None:
        if self.mode == "dead":
            await asyncio.sleep(0.02)
            await self._until_alive()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._until_alive()
                writer.write(data)
        finally:
            writer.transport.abort()


@contextmanager
def cable(thread: EngineThread, port: int) -> Iterator[Cable]:
    """An open cable to a port."""
    made = Cable(port)
    thread.call(made.open())
    try:
        yield made
    finally:
        thread.call(made.close())
