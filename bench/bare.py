"""Joins each client to an engine, byte for byte, on uvloop: `python bench/bare.py PORT ENGINE_PORT`.

It parses, routes and counts nothing: what it costs is what the event loop and the kernel cost any gateway on them.
"""

import asyncio
import gc
import sys
from typing import cast

import uvloop

HOST = "127.0.0.1"


class Joined(asyncio.Protocol):
    """One end; what it receives leaves at the other."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: Joined | None = None
        self._early: list[bytes] = []

    def join(self, other: "Joined") -> None:
        """Pass on to `other` from now on, beginning with what came before."""
        self.other = other
        if self._early and other.transport is not None:
            other.transport.writelines(self._early)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self.other is None or self.other.transport is None:
            self._early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        del exc
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class Accepted(Joined):
    """A client's end: opens the engine's."""

    def __init__(self, engine_port: int) -> None:
        super().__init__()
        self._engine_port = engine_port
        self._opening: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        _, engine = await asyncio.get_running_loop().create_connection(Joined, HOST, self._engine_port)
        engine.join(self)
        self.join(engine)


async def _serve(port: int, engine_port: int) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Accepted(engine_port), HOST, port)
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
