"""The stage of the chaos test: gateways in front of their engines, and what lies between each and the one Redis."""

import asyncio
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

import httpx

from tests.shared.cable import Cable, Mode, cable
from tests.shared.crowd import Crowd, Post, Span
from tests.support import config as files
from tests.support.engine import FakeEngine
from tests.support.gateway import Gateway, gateway
from tests.support.namespace import Link, Namespace, NoNamespaceError, namespace
from tests.support.redis import RedisServer, redis_server
from tests.support.site import fake_model
from tests.support.threads import EngineThread

GATEWAYS, CLIENTS, THRESHOLD, SPECULATIVE = 4, 200, 4, 2
LIMIT = THRESHOLD * SPECULATIVE
HEARTBEAT, EXPIRY, TIMEOUT = 0.5, 2.5, 0.5
# Counts are right within two heartbeats; what was begun before may run for two seconds more.
SETTLED = 2 * HEARTBEAT + 2.0
FORGOTTEN = re.compile(r"redis had forgotten this gateway, last heard ([\d.]+) s ago")


class Scene:
    """Even gateways reach Redis through a cable each, odd ones over a link each, where there can be links."""

    def __init__(self, stack: ExitStack, thread: EngineThread) -> None:
        self.thread = thread
        self.inside: Namespace | None = None
        self.no_namespace = ""
        try:
            self.inside = stack.enter_context(namespace(1 + GATEWAYS // 2))
        except NoNamespaceError as error:
            self.no_namespace = str(error)
        self.redis: RedisServer = stack.enter_context(redis_server(inside=self.inside))
        self.speculative = stack.enter_context(thread.engines(SPECULATIVE))
        self.baseline = stack.enter_context(thread.engines(2))
        self.links: list[Link] = [*self.inside.links[1:]] if self.inside else []
        self.cables: list[Cable] = [
            stack.enter_context(cable(thread, self.redis.host, self.redis.port))
            for _ in range(GATEWAYS - len(self.links))
        ]
        self.gateways: list[Gateway] = []
        self.posts: list[Post] = []
        self.troubled: list[Span] = []
        self._stack = stack
        hosts = [f"redis://{link.address}:{self.redis.port}" for link in self.links]
        cabled = [each.url for each in self.cables]
        self._urls = [
            hosts[number // 2] if number % 2 and hosts else cabled[number // 2 if hosts else number]
            for number in range(GATEWAYS)
        ]

    @property
    def engines(self) -> list[FakeEngine]:
        return [*self.speculative, *self.baseline]

    def start(self, number: int) -> Gateway:
        """A gateway, told of no more than its own way to Redis."""
        settings: dict[str, Any] = {
            "urls": [self._urls[number]],
            "heartbeat_seconds": HEARTBEAT,
            "expiry_seconds": EXPIRY,
            "timeout_seconds": TIMEOUT,
            "expected_gateways": GATEWAYS,
        }
        model = fake_model(self.speculative, self.baseline, policy={"threshold": THRESHOLD})
        # Two hundred clients in one process may take long from a connection to the request on it.
        limits = {"first_byte_seconds": 60, "idle_seconds": 60, "header_seconds": 60}
        made = files.config(model, limits=limits, redis=settings)
        self.gateways.append(self._stack.enter_context(gateway(made, None)))
        return self.gateways[-1]

    async def place(self, number: int) -> Post:
        """A gateway that is ready, and a client for it."""
        started = self.start(number)
        await asyncio.to_thread(started.wait_up, "/ready", 40.0)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=CLIENTS)
        return Post(started, httpx.AsyncClient(base_url=started.base_url, timeout=60, trust_env=False, limits=limits))

    async def kill(self, number: int, crowd: Crowd) -> None:
        """SIGKILL; another gateway takes its place."""
        post = self.posts[number]
        post.down_since = time.monotonic()
        crowd.killed(post.gateway)
        post.gateway.process.kill()
        old = post.client
        fresh = await self.place(number)
        post.gateway, post.client, post.down_since = fresh.gateway, fresh.client, None
        await old.aclose()

    async def stop(self, number: int, seconds: float) -> None:
        """SIGSTOP: the gateway does nothing for so long, and knows nothing of it."""
        process = self.posts[number].gateway.process
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    async def turn(self, pick: int, mode: Mode, seconds: float) -> None:
        """One of the cables is so for so long."""
        one = self.cables[pick % len(self.cables)]
        await asyncio.to_thread(self.thread.call, one.turn(mode))
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.thread.call, one.turn("whole"))

    def alone(self) -> list[Span]:
        """When a gateway decided by itself, by its log, and until what was begun then has ended."""
        spans = []
        for each in self.gateways:
            since: float | None = None
            for at, line in _said(each, "redis: ", "redis at "):
                if line["level"] == "warning":
                    since = since or at
                elif since is not None:
                    spans.append(Span(since, at + SETTLED))
                    since = None
            if since is not None:
                spans.append(Span(since, time.monotonic()))
        return spans

    def forgotten(self) -> list[Span]:
        """When the requests of a gateway did not count, by its log: it was silent for longer than the expiry."""
        spans = []
        for each in self.gateways:
            for at, line in _said(each, "redis had forgotten"):
                found = FORGOTTEN.match(line["message"])
                assert found, line
                silent = float(found[1])
                spans.append(Span(at - silent + (EXPIRY if silent > EXPIRY else 0.0), at + SETTLED))
        return spans

    async def together(self, seconds: float = 60.0) -> None:
        """All gateways decide through Redis, and know of each other."""
        deadline = time.monotonic() + seconds
        while not all([await asyncio.to_thread(_together, post.gateway) for post in self.posts]):
            assert time.monotonic() < deadline, [post.gateway.status() for post in self.posts]
            await asyncio.sleep(0.2)

    def account(self, spans: list[Span]) -> list[str]:
        """What the gateways' access logs say of these requests."""
        names = {span.name for span in spans}
        lines = [line for each in self.gateways for line in list(each.log) if line.get("id") in names]
        return [*map(str, spans), *map(str, lines)]


@contextmanager
def scene(thread: EngineThread) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(stack, thread)


def _said(each: Gateway, *beginnings: str) -> list[tuple[float, dict[str, Any]]]:
    offset = time.monotonic() - time.time()
    lines = [line for line in list(each.log) if line.get("message", "").startswith(beginnings)]
    return [(datetime.fromisoformat(line["time"]).timestamp() + offset, line) for line in lines]


def _together(each: Gateway) -> bool:
    model = each.status()["models"][0]
    return bool(model["source"] == "redis" and model["gateways"] == GATEWAYS)
