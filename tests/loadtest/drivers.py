"""Both drivers of the measuring client behind one face, so that each test runs with each."""

import asyncio
from collections.abc import Awaitable, Callable

from loadtest.client import Ask, AsyncClient, BlockingClient, Sample, parse_target

Driver = Callable[[str, list[Ask], float], Awaitable[list[Sample]]]


async def on_asyncio(url: str, asks: list[Ask], seconds: float = 30.0) -> list[Sample]:
    """All of them at once."""
    async with AsyncClient(parse_target(url), timeout=seconds) as client:
        return list(await asyncio.gather(*(client.ask(ask) for ask in asks)))


async def blocking(url: str, asks: list[Ask], seconds: float = 30.0) -> list[Sample]:
    """All of them at once, each in a thread with a client of its own, as locust's users are."""

    def one(ask: Ask) -> Sample:
        client = BlockingClient(parse_target(url), timeout=seconds)
        try:
            return client.ask(ask)
        finally:
            client.close()

    return list(await asyncio.gather(*(asyncio.to_thread(one, ask) for ask in asks)))


DRIVERS: dict[str, Driver] = {"asyncio": on_asyncio, "blocking": blocking}


def ask(**fields: object) -> Ask:
    """A chat request."""
    return Ask({"model": "fake", "messages": [{"role": "user", "content": "hi"}], **fields})
