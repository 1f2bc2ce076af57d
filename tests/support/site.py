"""A gateway with fake engines behind it, and the requests that tests send through it."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support import config as files
from tests.support.behaviours import Behaviour
from tests.support.engine import FakeEngine
from tests.support.gateway import Awaited, Gateway, gateway
from tests.support.threads import EngineThread

CHAT = "/v1/chat/completions"


@dataclass
class Site:
    """One model, `fake`, served by these engines."""

    gateway: Gateway
    speculative: list[FakeEngine]
    baseline: list[FakeEngine]

    @property
    def engines(self) -> list[FakeEngine]:
        return [*self.speculative, *self.baseline]

    def respond(self, behaviour: Behaviour) -> None:
        """Every engine forgets its past and answers like this from now on."""
        for engine in self.engines:
            engine.forget()
            engine.respond = behaviour

    def requests(self) -> int:
        """How many requests have reached an engine."""
        return sum(len(engine.requests) for engine in self.engines)

    @asynccontextmanager
    async def client(self, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        """An HTTP client of the gateway that opens as many connections as it is asked for."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=self.gateway.base_url, timeout=10.0, trust_env=False, limits=limits, **settings
        ) as client:
            yield client


def chat(stream: bool = False, model: str = "fake", **fields: Any) -> dict[str, Any]:
    """A chat request's body."""
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "hi"}], **fields}
    return {**body, "stream": True} if stream else body


async def open_stream(
    client: httpx.AsyncClient, headers: dict[str, str] | None = None, **fields: Any
) -> httpx.Response:
    """Starts a streamed chat and returns once its head has come; the caller reads or closes it."""
    request = client.build_request("POST", CHAT, json=chat(stream=True, **fields), headers=headers)
    return await client.send(request, stream=True)


def placed(response: httpx.Response) -> tuple[str, str]:
    """The pool that answered and the reason it was chosen."""
    return response.headers["x-spillway-pool"], response.headers["x-spillway-reason"]


def fake_model(
    speculative: list[FakeEngine], baseline: list[FakeEngine], pool: files.Settings | None = None, **settings: Any
) -> files.Settings:
    """The model `fake` of a configuration file; `pool` settings go to both pools."""
    first, second = (
        files.pool([engine.url for engine in engines], **(pool or {})) for engines in (speculative, baseline)
    )
    return files.model(first if speculative else (), second if baseline else (), **settings)


@contextmanager
def site(
    thread: EngineThread,
    speculative: int = 1,
    baseline: int = 1,
    settings: Callable[[list[FakeEngine], list[FakeEngine]], files.Settings] | None = None,
    wait_for: Awaited | None = "/ready",
    write: files.Write = files.write,
) -> Iterator[Site]:
    """Starts so many engines of each role, then a gateway whose file `settings` makes from them."""
    with thread.engines(speculative) as first, thread.engines(baseline) as second:
        made = settings(first, second) if settings else files.config(fake_model(first, second))
        with gateway(made, wait_for, write=write) as running:
            yield Site(running, first, second)
