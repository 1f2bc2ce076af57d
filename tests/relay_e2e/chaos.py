"""Clients and engines that fail at random, every fault counted by its name."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import httptools

from tests.support.behaviours import (
    AFTER_FIRST_BYTE,
    BEFORE_FIRST_BYTE,
    Behaviour,
    End,
    answer,
    play,
    stream,
)
from tests.support.engine import FakeEngine
from tests.support.exchange import Exchange
from tests.support.raw import RawClient, request_bytes
from tests.support.site import chat
from tests.support.wire import chat_events

# A faulty engine's answers; the others of the field are covered one by one elsewhere.
WRONG: dict[str, Behaviour] = {
    **{name: BEFORE_FIRST_BYTE[name] for name in ("close before head", "reset before head", "503", "504")},
    "garbage instead of HTTP": BEFORE_FIRST_BYTE["garbage instead of HTTP"],
    "close between head and body": BEFORE_FIRST_BYTE["close between head and body"],
    **AFTER_FIRST_BYTE,
    "hang before head": play(End.HANG),
}


class Chaos:
    """One seed's run: what clients and engines do, and what was counted of it."""

    def __init__(self, seed: int, port: int, engines: list[FakeEngine]) -> None:
        self._random = random.Random(seed)
        self._port = port
        self._engines = engines
        self.faults: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.on = True
        for engine in engines:
            engine.respond = self._respond

    async def client(self) -> None:
        """Sends one request after the other while the chaos is on."""
        fates: list[Callable[[RawClient], Awaitable[None]]] = [self._stay] * 6
        fates += [self._leave_early, self._leave_late, self._leave_unasked, self._half_close, self._read_late]
        while self.on:
            try:
                client = await RawClient.open(self._port)
            except OSError as exc:
                self.outcomes[f"connect: {type(exc).__name__}"] += 1
                await asyncio.sleep(0.05)
                continue
            try:
                await self._random.choice(fates)(client)
            except (OSError, TimeoutError, AssertionError, httptools.HttpParserError) as exc:
                self.outcomes[f"client: {type(exc).__name__}"] += 1
            finally:
                client.close()

    def _request(self) -> bytes:
        return request_bytes(json.dumps(chat(stream=self._random.random() < 0.7)).encode())

    async def _stay(self, client: RawClient) -> None:
        for _ in range(self._random.randint(1, 4)):
            await client.send(self._request())
            response = await client.response(20.0)
            self.outcomes[f"{response.status} {'whole' if response.complete else 'short'}"] += 1
            if not response.complete:
                return

    async def _leave_early(self, client: RawClient) -> None:
        await client.send(self._request())
        await asyncio.sleep(self._random.choice([0, 0.001, 0.01, 0.1]))
        self._leave(client, "before the first byte")

    async def _leave_late(self, client: RawClient) -> None:
        await client.send(self._request())
        await client.read_until(b"\r\n\r\n", 20.0)
        await asyncio.sleep(self._random.choice([0, 0.01, 0.05]))
        self._leave(client, "after the first byte")

    async def _leave_unasked(self, client: RawClient) -> None:
        sent = self._request()
        await client.send(sent[: self._random.randint(1, len(sent) - 1)])
        await asyncio.sleep(self._random.choice([0, 0.02]))
        self._leave(client, "before the request's end")

    async def _half_close(self, client: RawClient) -> None:
        await client.send(self._request())
        client.half_close()
        self.faults["client half-closed"] += 1
        await client.response(20.0)

    async def _read_late(self, client: RawClient) -> None:
        await client.send(self._request())
        self.faults["client read late"] += 1
        await asyncio.sleep(0.5)
        await client.response(20.0)

    def _leave(self, client: RawClient, when: str) -> None:
        if self._random.random() < 0.5:
            client.reset()
            self.faults[f"client reset {when}"] += 1
        else:
            client.close()
            self.faults[f"client closed {when}"] += 1

    async def _respond(self, exchange: Exchange) -> None:
        if self.on and self._random.random() < 0.15:
            name = self._random.choice(list(WRONG))
            self.faults[f"answer: {name}"] += 1
            await WRONG[name](exchange)
            return
        await exchange.sleep(self._random.choice([0, 0.01, 0.1]))
        if exchange.request.json().get("stream"):
            words = ["word "] * self._random.randint(1, 30)
            await stream(chat_events(words), gap=self._random.choice([0.001, 0.02]))(exchange)
        else:
            await answer()(exchange)

    async def torment(self) -> None:
        """Fells one engine after the other while the chaos is on; all are well at the end."""
        faults: list[Callable[[FakeEngine], Awaitable[None]]] = [self._kill, self._stall, self._unready, self._drop]
        while self.on:
            await asyncio.sleep(self._random.uniform(0.05, 0.4))
            await self._random.choice(faults)(self._random.choice(self._engines))

    async def _kill(self, engine: FakeEngine) -> None:
        self.faults["engine killed"] += 1
        await engine.kill()
        await asyncio.sleep(self._random.uniform(0, 0.6))
        await engine.restart()

    async def _stall(self, engine: FakeEngine) -> None:
        self.faults["engine hung"] += 1
        engine.stalled = True
        await asyncio.sleep(self._random.uniform(0, 1.0))
        engine.stalled = False

    async def _unready(self, engine: FakeEngine) -> None:
        self.faults["engine unready"] += 1
        engine.health = "unready"
        await asyncio.sleep(self._random.uniform(0, 0.5))
        engine.health = "ok"

    async def _drop(self, engine: FakeEngine) -> None:
        self.faults["engine reset all connections"] += 1
        await engine.drop_connections()
