"""An engine as a prober meets it: a small server whose answers to probes can be changed at any time."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

Mode = Literal["ok", "unwell", "no such path", "only models", "wants a key", "hang", "reset", "garbage"]

STATUS = {"ok": 200, "unwell": 503, "no such path": 404, "only models": 404, "wants a key": 401}
MODELS = b'{"object": "list", "data": [{"id": "m", "max_model_len": 4096}, "odd"]}'


class Engine:
    """Probes are answered by `mode`, after `delay` seconds; /stream sends a byte every 5 ms unless `silent`.

    `pages` are answered whatever the mode; `asked` counts how often, by path.
    """

    def __init__(self) -> None:
        self.mode: Mode = "ok"
        self.delay = 0.0
        self.silent = False
        self.probes: list[tuple[float, str]] = []  # when, and the path
        self._arrival = asyncio.Event()
        self.models = MODELS
        self.pages: dict[str, str] = {}
        self.asked: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen: on a free port the first time, on the same one afterwards."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """Listen no more; connections there are stay."""
        assert self._server is not None
        self._server.close()

    async def probed(self, times: int = 1, seconds: float = 5.0) -> None:
        """Wait for so many further probes to arrive."""
        wanted = len(self.probes) + times
        async with asyncio.timeout(seconds):
            while len(self.probes) < wanted:
                self._arrival.clear()
                await self._arrival.wait()

    def _asks_for_models(self, path: str) -> bool:
        """Rather than for a sign of life."""
        return bool(self.probes) and self.probes[-1][1] != path and self.mode != "no such path"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            self.asked[path] += 1
            if path in self.pages:
                page = self.pages[path].encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(page) + page)
            elif path.startswith(("/metrics", "/v1/loads")):
                writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 2\r\n\r\nhm")
            elif path == "/stream":
                await self._stream(writer)
            elif path == "/v1/models" and self._asks_for_models(path):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(self.models) + self.models)
            else:
                self.probes.append((asyncio.get_running_loop().time(), path))
                self._arrival.set()
                await self._answer(reader, writer)
            await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mode = self.mode
        await asyncio.sleep(self.delay)
        if mode == "hang":
            await reader.read()
        elif mode == "reset":
            writer.transport.abort()
        elif mode == "garbage":
            writer.write(b"what?\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 %d X\r\ncontent-length: 2\r\n\r\nhm" % STATUS[mode])

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while not writer.transport.is_closing():
            if not self.silent:
                writer.write(b"1\r\n.\r\n")
                await writer.drain()
            await asyncio.sleep(0.005)


@asynccontextmanager
async def an_engine() -> AsyncIterator[Engine]:
    """One that listens, and no longer at the end."""
    engine = Engine()
    await engine.start()
    try:
        yield engine
    finally:
        engine.refuse()
