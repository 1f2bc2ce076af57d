"""What ails a Redis that is still there: each is a time during which it refuses, hangs or talks nonsense."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import redis.exceptions

from tests.support.redis import RedisServer

Ailment = Callable[[RedisServer], AbstractAsyncContextManager[None]]
COUNTS = "spillway:{fake}:counts"


@asynccontextmanager
async def busy(server: RedisServer) -> AsyncIterator[None]:
    """Another client's script does not end: BUSY."""

    def spin() -> None:
        with server.client() as client, pytest.raises(redis.exceptions.ResponseError, match="killed"):
            client.eval("while true do end", 0)

    with server.client() as client:
        client.config_set("busy-reply-threshold", "50")
        spinning = asyncio.create_task(asyncio.to_thread(spin))
        yield
        client.script_kill()
        await spinning


@asynccontextmanager
async def loading(server: RedisServer) -> AsyncIterator[None]:
    """It reads its data, slowly: LOADING. What it has then is what it had before."""
    with server.client() as client:
        for number in range(1000):
            client.set(f"ballast:{number}", f"{number:04}" * 256)
        client.config_set("loading-process-events-interval-bytes", "1024")
        client.config_set("key-load-delay", "1000")
        reading = asyncio.create_task(asyncio.to_thread(client.execute_command, "DEBUG", "RELOAD"))
        yield
        await reading
        client.config_set("key-load-delay", "0")


@asynccontextmanager
async def paused(server: RedisServer) -> AsyncIterator[None]:
    """CLIENT PAUSE: it takes commands and does none."""
    with server.client() as client:
        client.client_pause(1000)
        yield


@asynccontextmanager
async def forbidding(server: RedisServer) -> AsyncIterator[None]:
    """The user has lost a right: NOPERM."""
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-evalsha")
        yield
        client.execute_command("ACL", "SETUSER", "default", "+evalsha")


def configured(name: str, value: str, usual: str) -> Ailment:
    """It has another setting, which those meet who connect from now on, and all have to."""

    @asynccontextmanager
    async def setting(server: RedisServer) -> AsyncIterator[None]:
        with server.client() as client:
            client.config_set(name, value)
            _hang_up(client)
            yield
            client.config_set(name, usual)

    return setting


def replaced(answer: Callable[[bytes], bytes]) -> Ailment:
    """Something else listens where it was, and answers each command so."""

    @asynccontextmanager
    async def replacing(server: RedisServer) -> AsyncIterator[None]:
        open_ones: set[asyncio.StreamWriter] = set()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            open_ones.add(writer)
            while data := await reader.read(65536):
                for command in (b"\r\n" + data).split(b"\r\n*")[1:]:
                    writer.write(answer(command))

        await asyncio.to_thread(server.kill)
        other = await asyncio.start_server(talk, server.host, server.port)
        yield
        other.close()
        for writer in open_ones:
            writer.close()
        await asyncio.to_thread(server.start)

    return replacing


def nonsense(command: bytes) -> bytes:
    """A gateway may join, and is then told nothing it can use."""
    if b"EVALSHA" in command and b"\r\nhello\r\n" not in command:
        return b"*7\r\n+ok\r\n:0\r\n:0\r\n:0\r\n:1\r\n*0\r\n*0\r\n" if b"\r\nbeat\r\n" in command else b"*1\r\n+ok\r\n"
    return b"+OK\r\n"


def _hang_up(client: "redis.Redis") -> None:
    client.client_kill_filter(_type="normal", skipme=True)


# By what gateways say of each.
AILMENTS: dict[str, Ailment] = {
    "BUSY": busy,
    "LOADING": loading,
    "no answer within": paused,
    "NOPERM": forbidding,
    "NOAUTH": configured("requirepass", "other", ""),
    "max number of clients reached": configured("maxclients", "1", "10000"),
    "does not speak Redis' protocol": replaced(lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "it forgot this gateway at once": replaced(lambda _: b"+OK\r\n"),
}
