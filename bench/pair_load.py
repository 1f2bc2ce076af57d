"""A closed loop on real engines in which nothing but the number of requests sets the speed.

Answers have exponential lengths, so that requests don't begin and end all together; every sixteen have the same ones
in another order, and prompts come in turn, so that a short loop meets what a long one would. No two requests in flight
have the same prompt: an engine finds each where it keeps it. Tokens are counted when they come, and what still runs at
the end is cancelled: nothing is counted at the speed of a time when others had already ended.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import httpx

from gateway.demo.prompts import DISTINCT, prompts
from gateway.routing import ROLES

CONTENT = '"content":"'
GONE_SECONDS = 0.4


class Window(NamedTuple):
    """What is counted of a loop: from `since` to `until`, monotonic seconds."""

    since: float
    until: float

    def __contains__(self, at: object) -> bool:
        return isinstance(at, float) and self.since <= at < self.until


@dataclass(slots=True)
class Counted:
    """What came in `seconds`, by pool: tokens, requests that ended, seconds from a request to its first token."""

    seconds: float
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))
    ended: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))
    waits: dict[str, list[float]] = field(default_factory=lambda: {role: [] for role in ROLES})


class Traffic:
    """Clients with prompts and lengths that go on from one loop to the next: so each prompt comes equally often."""

    def __init__(self, url: str, tokens: int, seed: int) -> None:
        """`tokens`: of an answer, in the mean."""
        self._url = url
        self._random = Random(seed)
        self._lengths = self._exponential(tokens)
        self._prompts = deque(prompts(DISTINCT))
        self._random.shuffle(self._prompts)

    def _exponential(self, mean: float) -> Iterator[int]:
        """The middles of as many slices of the distribution as there are prompts, shuffled anew each time."""
        deck = [max(1, round(-mean * math.log1p(-(number + 0.5) / DISTINCT))) for number in range(DISTINCT)]
        while True:
            self._random.shuffle(deck)
            yield from deck

    async def loop(self, model: str, pins: Sequence[str | None], warm_up: float, seconds: float) -> Counted:
        """A client for each of `pins`, which names its pool or none; counts `seconds` from the end of the warm-up."""
        since = time.monotonic() + warm_up
        window, counted = Window(since, since + seconds), Counted(seconds)
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=self._url, timeout=60.0, trust_env=False, limits=limits) as http:
            clients = [asyncio.create_task(self._client(http, model, pin, window, counted)) for pin in pins]
            await asyncio.wait(clients, timeout=warm_up + seconds, return_when=asyncio.FIRST_EXCEPTION)
            for client in clients:
                client.cancel()
            for client in clients:
                with suppress(asyncio.CancelledError):
                    await client
            # An engine hears of it in its next step.
            await asyncio.sleep(GONE_SECONDS)
        return counted

    async def _client(
        self, http: httpx.AsyncClient, model: str, pin: str | None, window: Window, counted: Counted
    ) -> None:
        headers = {"x-spillway-pool": pin} if pin else {}
        while True:
            prompt = self._prompts.popleft()
            body = {
                "model": model,
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": next(self._lengths),
                "temperature": 0,
                "stream": True,
            }
            sent = time.monotonic()
            try:
                async with http.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
                    await _count(response, sent, window, counted)
            finally:
                self._prompts.append(prompt)


async def _count(response: httpx.Response, sent: float, window: Window, counted: Counted) -> None:
    """An event is a token, as llama.cpp sends them."""
    response.raise_for_status()
    pool, waits = response.headers["x-spillway-pool"], True
    async for line in response.aiter_lines():
        if CONTENT not in line:
            continue
        now = time.monotonic()
        if now in window:
            counted.tokens[pool] += 1
            if waits and sent in window:
                counted.waits[pool].append(now - sent)
        waits = False
    counted.ended[pool] += time.monotonic() in window
