"""Many clients at several gateways, some of which leave early; what became of each request, and when."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import httpx

from tests.support.behaviours import Behaviour, answer
from tests.support.engine import FakeEngine
from tests.support.exchange import Exchange, Request
from tests.support.gateway import Gateway
from tests.support.site import CHAT, chat


class Span(NamedTuple):
    """From when to when, and which request."""

    start: float
    end: float
    name: str = ""


@dataclass
class Post:
    """One of the gateways' places: whoever runs there now, and when who ran there before was killed."""

    gateway: Gateway
    client: httpx.AsyncClient
    down_since: float | None = None


class Crowd:
    """Clients that send one request after the other while `on`."""

    def __init__(self, seed: int, posts: list[Post], engines: list[FakeEngine]) -> None:
        self.random = random.Random(seed)
        self.posts = posts
        self.on = True
        self.faults: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.errors: list[str] = []
        self.left: dict[str, float] = {}
        self._number = 0
        self._asking: dict[str, Gateway] = {}
        for engine in engines:
            engine.respond = self._respond

    async def client(self) -> None:
        while self.on:
            post = self.random.choice(self.posts)
            if post.down_since is None:
                await self._ask(post)
            else:
                await asyncio.sleep(0.1)

    def killed(self, gateway: Gateway) -> None:
        """Its requests are over; engines hear of it later."""
        now = time.monotonic()
        self.left |= dict.fromkeys((name for name, at in self._asking.items() if at is gateway), now)

    async def _ask(self, post: Post) -> None:
        self._number += 1
        name = f"crowd-{self._number}"
        self._asking[name] = post.gateway
        try:
            await self._ask_as(name, post)
        finally:
            del self._asking[name]

    async def _ask_as(self, name: str, post: Post) -> None:
        leaves = self.random.random() < 0.15
        client, started = post.client, time.monotonic()
        headers = {"x-request-id": name}
        body = chat(stream=self.random.random() < 0.2)
        try:
            asking = asyncio.create_task(client.post(CHAT, json=body, headers=headers))
            if leaves:
                await asyncio.wait((asking,), timeout=self.random.choice([0.0, 0.002, 0.02, 0.2]))
            if leaves and not asking.done():
                self.left[name] = time.monotonic()
                self.faults["client left"] += 1
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
                return
            response = await asking
        except httpx.TransportError as error:
            if post.client is client and post.down_since is None:
                self.errors.append(f"{name} after {time.monotonic() - started:.2f} s: {error!r}")
            else:
                self.outcomes["killed with its gateway"] += 1
            return
        self.outcomes[str(response.status_code)] += 1
        if response.status_code != 200:
            self.errors.append(f"{name}: {response.status_code} {response.text}")

    async def _respond(self, exchange: Exchange) -> None:
        seconds = self.random.uniform(0.4, 1.2)
        behaviour: Behaviour = answer(words=("one ", "two ", "three "), gap=seconds / 3)
        await behaviour(exchange)

    def spans(self, engines: Iterable[FakeEngine]) -> list[Span]:
        """When requests ran at these engines: from their arrival until the engine was done or the client left."""
        now = time.monotonic()
        return [self._span(request, now) for engine in engines for request in engine.requests]

    def _span(self, request: Request, now: float) -> Span:
        # An engine hears of a client that left only after the gateway has given its place to another.
        name = request.header("x-request-id") or ""
        ends = [request.ended_at, request.gone_at, self.left.get(name)]
        end = min((at for at in ends if at is not None), default=now)
        return Span(request.received_at, max(end, request.received_at), name)


def most(spans: Iterable[Span], ignored: Iterable[Span] = ()) -> list[Span]:
    """Those that ran at once when most did, of all instants outside of the ignored spans at which one began."""
    quiet = list(ignored)
    running: set[Span] = set()
    fullest: list[Span] = []
    for span in sorted(span for span in spans if span.start < span.end):
        running = {each for each in running if each.end > span.start} | {span}
        if len(running) > len(fullest) and not any(each.start <= span.start <= each.end for each in quiet):
            fullest = sorted(running)
    return fullest
