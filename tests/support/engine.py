"""A fake engine on a real socket, whose answers are scripted down to the byte."""

import asyncio
import socket
import time
from collections import deque
from collections.abc import Coroutine
from typing import Literal

import httptools

from tests.support.behaviours import Behaviour, answer
from tests.support.exchange import Exchange, PeerGoneError, Request, reset
from tests.support.wire import json_reply, reply

HealthMode = Literal["ok", "unready", "hang", "reset"]


class FakeEngine:
    """Answers each request with the next of `script`, or with `respond` when that is empty.

    Runs in the loop that starts it; kill, restart and stop may be awaited from any loop, and the plain attributes read
    and set from any thread. `/health`, `/v1/models` and `/metrics` are answered by `health`, `model` and `metrics`,
    never by the script.
    """

    def __init__(self, respond: Behaviour | None = None, model: str = "fake") -> None:
        self.respond: Behaviour = respond or answer()
        self.script: deque[Behaviour] = deque()
        self.health: HealthMode = "ok"
        self.stalled = False  # True: nothing is sent on any connection until it is False again
        self.model = model
        self.metrics: str | None = None  # the page; None: 404
        self.requests: list[Request] = []
        self.connections_made = 0
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        # Bound but never listening: holds the port while the engine is down, so that a restart finds it free.
        self._reserved = _bind(0)
        self.port: int = self._reserved.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def label(self) -> str:
        """The engine's name in headers, logs and metrics: its host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def start(self) -> None:
        """Listens on the engine's port; the running loop becomes the engine's."""
        self._loop = asyncio.get_running_loop()
        await self._listen()

    async def kill(self) -> None:
        """The process dies: the port refuses and every connection is reset."""
        await self._in_own_loop(self._kill())

    async def drop_connections(self) -> None:
        """Resets every connection, and goes on listening."""
        await self._in_own_loop(self._drop_connections())

    async def restart(self) -> None:
        """Listens on the same port again."""
        await self._in_own_loop(self._listen())

    async def stop(self) -> None:
        """Kills the engine and gives its port back."""
        await self.kill()
        self._reserved.close()

    async def next_request(self, index: int = 0, seconds: float = 5.0) -> Request:
        """The request of this index, once it has come whole. Raises AssertionError after the deadline."""
        deadline = time.monotonic() + seconds
        while len(self.requests) <= index:
            assert time.monotonic() < deadline, f"no request {index} within {seconds} s: {len(self.requests)} came"
            await asyncio.sleep(0.005)
        return self.requests[index]

    def forget(self) -> None:
        """Back to a healthy engine with an empty script and no requests on record."""
        self.script.clear()
        self.requests = []
        self.health = "ok"
        self.stalled = False

    async def _in_own_loop(self, work: Coroutine[None, None, None]) -> None:
        if asyncio.get_running_loop() is self._loop:
            await work
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _listen(self) -> None:
        listener = _bind(self.port)
        self._server = await self._loop.create_server(lambda: _Connection(self), sock=listener, backlog=512)

    async def _kill(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._drop_connections()

    async def _drop_connections(self) -> None:
        for connection in list(self._connections):
            connection.kill()
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """Parses requests off one connection and answers them one after the other."""

    transport: asyncio.Transport

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self._parser = httptools.HttpRequestParser(self)
        self._turns = 0
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._waiting: asyncio.Queue[Request] = asyncio.Queue()
        self._exchange: Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._engine.connections_made += 1
        self._number = self._engine.connections_made
        self._engine._connections.add(self)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def connection_lost(self, _exc: Exception | None) -> None:
        self._engine._connections.discard(self)
        if self._exchange is not None:
            self._exchange.mark_gone()
        else:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as exc:
            self.transport.write(json_reply(400, {"error": f"the gateway sent what is not HTTP: {exc!r}"}))
            self.transport.close()

    def pause_writing(self) -> None:
        if self._exchange is not None:
            self._exchange.set_writable(False)

    def resume_writing(self) -> None:
        if self._exchange is not None:
            self._exchange.set_writable(True)

    def on_message_begin(self) -> None:
        self._target, self._headers, self._body = b"", [], []

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        request = Request(
            method=self._parser.get_method().decode(),
            target=self._target.decode("latin-1"),
            headers=self._headers,
            connection=self._number,
            turn=self._turns,
            body=b"".join(self._body),
        )
        self._turns += 1
        self._waiting.put_nowait(request)

    def kill(self) -> None:
        self._task.cancel()
        reset(self.transport)

    async def _serve(self) -> None:
        while not self.transport.is_closing():
            request = await self._waiting.get()
            exchange = self._exchange = Exchange(request, self.transport, lambda: self._engine.stalled)
            if self.transport.is_closing():
                return
            try:
                await self._behaviour(request)(exchange)
            except PeerGoneError:
                return
            finally:
                request.ended_at = time.monotonic()
                self._exchange = None

    def _behaviour(self, request: Request) -> Behaviour:
        path = request.target.partition("?")[0]
        if path == "/health":
            return self._health
        if path == "/v1/models":
            return self._models
        if path == "/metrics":
            return self._metrics
        self._engine.requests.append(request)
        return self._engine.script.popleft() if self._engine.script else self._engine.respond

    async def _health(self, exchange: Exchange) -> None:
        match self._engine.health:
            case "ok":
                await exchange.send(json_reply(200, {"status": "ok"}))
            case "unready":
                await exchange.send(json_reply(503, {"status": "loading"}))
            case "hang":
                await exchange.hang()
            case "reset":
                exchange.reset()

    async def _metrics(self, exchange: Exchange) -> None:
        page = self._engine.metrics
        status, text = (404, "none here") if page is None else (200, page)
        await exchange.send(reply(status, text.encode(), (("content-type", "text/plain; version=0.0.4"),)))

    async def _models(self, exchange: Exchange) -> None:
        model = {"id": self._engine.model, "object": "model", "created": 1, "owned_by": "fake"}
        await exchange.send(json_reply(200, {"object": "list", "data": [model]}))


def _bind(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound
