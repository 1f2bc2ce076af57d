"""Clients that ask again and again, in a thread."""

import asyncio
import threading
from types import TracebackType

import httpx

from tests.support.site import CHAT, Site, chat


class Traffic:
    """So many clients, each with a streamed request at a time."""

    def __init__(self, here: Site, clients: int, model: str = "fake") -> None:
        self._url = here.gateway.base_url
        self._clients = clients
        self._model = model
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    async def _run(self) -> None:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=self._url, trust_env=False, timeout=20, limits=limits) as client:
            await asyncio.gather(*(self._client(client) for _ in range(self._clients)))

    async def _client(self, client: httpx.AsyncClient) -> None:
        while not self._over.is_set():
            await client.post(CHAT, json=chat(stream=True, model=self._model))
