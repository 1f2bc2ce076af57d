"""A server of ours on a free port, with a small application behind it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from gateway.config import Limits, Listen
from gateway.server import Server, bounded_protocol, listening_socket, make_server
from gateway.server.protocol import BoundedProtocol
from tests.support.raw import RawClient, Response, raw_client, request_bytes

LARGE = 24 << 20
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class App:
    """Answers by path. `gate` holds /wait, /stream and /own; `connections` are those of the requests so far."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self.connections: list[BoundedProtocol] = []
        self.scopes: list[dict[str, Any]] = []
        self.cancelled = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        self.connections.append(scope["extensions"]["spillway.connection"])
        self.started.set()
        match scope["path"]:
            case "/refuse":
                await answer(send, 413, b"no")
            case "/empty":
                await read(receive)
                await answer(send, int(scope["query_string"] or 204), b"", length=False)
            case "/wait" | "/own":
                await self._hold()
                await answer(send, 200, b"waited")
            case "/stream":
                await start(send, 200)
                await send({"type": "http.response.body", "body": b"one,", "more_body": True})
                await self._hold()
                await send({"type": "http.response.body", "body": b"", "more_body": True})
                await send({"type": "http.response.body", "body": b"two", "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            case "/large":
                await answer(send, 200, b"x" * LARGE)
            case "/torn":
                await start(send, 200)
                await send({"type": "http.response.body", "body": b"one,", "more_body": True})
                scope["extensions"]["spillway.connection"].abort()
            case _:
                await answer(send, 200, await read(receive))

    async def _hold(self) -> None:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def start(send: Send, status: int, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def answer(send: Send, status: int, body: bytes, *, length: bool = True) -> None:
    headers = [(b"content-length", b"%d" % len(body))] if length else []
    await start(send, status, *headers)
    await send({"type": "http.response.body", "body": body, "more_body": False})


@dataclass
class Site:
    """`refused`: the statuses of what was turned away before it was a request."""

    port: int
    server: Server
    app: App
    refused: list[int]

    @property
    def open_connections(self) -> int:
        return len(self.server.server_state.connections)

    async def connected(self, count: int = 1) -> None:
        """Wait until so many connections are open."""
        deadline = asyncio.get_running_loop().time() + 3
        while self.open_connections != count:
            assert asyncio.get_running_loop().time() < deadline, f"{self.open_connections} are open"
            await asyncio.sleep(0.002)

    async def ask(self, path: str = "/echo", body: bytes = b"hi", **fields: Any) -> Response:
        """A request on a connection of its own."""
        async with raw_client(self.port) as client:
            return await ask(client, path, body, **fields)


async def ask(client: RawClient, path: str = "/echo", body: bytes = b"hi", **fields: Any) -> Response:
    await client.send(request_bytes(body, path, **fields))
    return await client.response()


def _site(limits: dict[str, Any]) -> tuple[Site, socket.socket]:
    """/wait and /stream are as what is relayed."""
    app, refused, set_limits = App(), list[int](), Limits(**limits)
    listen = Listen(host="127.0.0.1", port=0)
    listener = listening_socket(listen)
    protocol = bounded_protocol(lambda: set_limits, refused.append, lambda path: path in ("/wait", "/stream"))
    server = make_server(app, listen, listener, protocol)
    return Site(listener.getsockname()[1], server, app, refused), listener


@asynccontextmanager
async def serving(**limits: Any) -> AsyncIterator[Site]:
    """The protocol alone, for uvicorn's server takes its time to stop; connections that are left are cut off."""
    site, listener = _site(limits)
    config, state = site.server.config, site.server.server_state
    config.load()
    protocol = cast("Callable[..., asyncio.Protocol]", config.http_protocol_class)
    listening = await asyncio.get_running_loop().create_server(
        lambda: protocol(config=config, server_state=state, app_state={}), sock=listener
    )
    try:
        yield site
    finally:
        listening.close()
        site.server.force()
        for connection in list(state.connections):
            cast("BoundedProtocol", connection).abort()
        await asyncio.gather(*state.tasks, return_exceptions=True)


@asynccontextmanager
async def running(**limits: Any) -> AsyncIterator[Site]:
    """The whole server."""
    site, _ = _site(limits)
    task = asyncio.create_task(site.server.run_until_stopped())
    try:
        yield site
    finally:
        site.app.gate.set()
        site.server.stop(0.0)
        await task
