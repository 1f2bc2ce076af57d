"""The gateway's /status, looked at from outside while a sweep runs."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import msgspec

LOOK_SECONDS = 0.5


class PoolLook(msgspec.Struct):
    """One pool at one moment. `limit` is what the policy lets in; None where it sets none."""

    inflight: int
    limit: int | None = None
    ready: int = 0


class Policy(msgspec.Struct):
    """The policy in force."""

    kind: str = ""
    mode: str = ""
    threshold: int | None = None
    allow_pinning: bool = False


class Status(msgspec.Struct):
    """One model at one moment."""

    name: str
    pools: dict[str, PoolLook]
    policy: Policy = msgspec.field(default_factory=Policy)
    aliases: list[str] = []

    @property
    def inflight(self) -> int:
        """Requests in flight in all pools."""
        return sum(pool.inflight for pool in self.pools.values())


class _Page(msgspec.Struct):
    models: list[Status]


class StatusClient:
    """Reads /status. A server without it, such as an engine, is no error: there is just nothing to see."""

    def __init__(self, http: httpx.AsyncClient, url: str, model: str) -> None:
        self._http = http
        self._url = f"{url}/status"
        self._model = model

    async def look(self) -> Status | None:
        """The model's part. None if there is no such page, or the model is not on it."""
        try:
            response = await self._http.get(self._url)
            if response.status_code != 200:
                return None
            page = msgspec.json.decode(response.content, type=_Page)
        except (httpx.HTTPError, msgspec.DecodeError):
            return None
        return next((one for one in page.models if self._model in (one.name, *one.aliases)), None)

    @asynccontextmanager
    async def watching(self, note: Callable[[float, Status], None]) -> AsyncIterator[None]:
        """Tells `note` the time and the status every LOOK_SECONDS while the block runs."""
        looking = asyncio.create_task(self._watch(note))
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def idle(self, seconds: float = 30.0) -> None:
        """Returns once nothing is in flight, or after so long; at once if there is nothing to see."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = await self.look()
            if status is None or not status.inflight:
                return
            await asyncio.sleep(0.1)

    async def _watch(self, note: Callable[[float, Status], None]) -> None:
        while True:
            status = await self.look()
            if status is None:
                return
            note(time.perf_counter(), status)
            await asyncio.sleep(LOOK_SECONDS)
