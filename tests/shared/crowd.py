"""Many clients at several gateways, some of which leave early; what became of each request, and when."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import httpx

from tests.support.behaviours import Behaviour, answer
from tests.support.engine import FakeEngine
from tests.support.exchange import Exchange, Request
from tests.support.gateway import Gateway
from tests.support.site import CHAT, chat

Span = tuple[float, float]


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
        for engine in engines:
            engine.respond = self._respond

    async def client(self) -> None:
        while self.on:
            post = self.random.choice(self.posts)
            if post.down_since is None:
                await self._ask(post)
            else:
                await asyncio.sleep(0.1)

    async def _ask(self, post: Post) -> None:
        self._number += 1
        name = f"crowd-{self._number}"
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
        ends = [request.ended_at, request.gone_at, self.left.get(request.header("x-request-id") or "")]
        end = min((at for at in ends if at is not None), default=now)
        return request.received_at, max(end, request.received_at)


def most(spans: Iterable[Span], ignored: Iterable[Span] = ()) -> int:
    """How many ran at once at most, at any instant outside of the ignored spans."""
    quiet = list(ignored)
    events = sorted(event for start, end in spans for event in ((start, 1), (end, -1)))
    running = highest = 0
    for at, change in events:
        running += change
        if change > 0 and not any(start <= at <= end for start, end in quiet):
            highest = max(highest, running)
    return highest
