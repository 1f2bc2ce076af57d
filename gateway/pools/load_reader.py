"""Asks engines, now and then, how many requests they hold."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Literal

import httpx

from gateway.config import EngineTls
from gateway.engines import UnreadableError, load_advice, load_paths, read_load
from gateway.pools.ask import ask
from gateway.pools.engine_load import EngineLoad
from gateway.pools.pace import Pace
from gateway.pools.pool import Pool
from gateway.pools.replica import Replica, State
from gateway.pools.trouble import Trouble, unreachable

_log = logging.getLogger(__name__)
# SGLang's page has 90 KB.
_LARGEST_PAGE = 8 * 1024 * 1024

# Kinds of failure: a closed set, used as a metric label.
LoadTrouble = Literal["unreachable", "timeout", "status", "unreadable", "internal"]
# Told the pool and the kind of each failure.
CountFailure = Callable[[Pool, LoadTrouble], None]


class _FailedError(Exception):
    """`kind` is the metric's label."""

    def __init__(self, kind: LoadTrouble, trouble: Trouble) -> None:
        super().__init__(trouble.text)
        self.kind = kind
        self.trouble = trouble


class LoadReaders:
    """A reader for each replica whose pool has `engine_load.enabled`."""

    def __init__(
        self,
        client: Callable[[EngineTls], httpx.AsyncClient],
        clock: Callable[[], float],
        count_failure: CountFailure,
    ) -> None:
        """`client` is asked before each reading, `clock` gives monotonic seconds."""
        self._client = client
        self._clock = clock
        self._count_failure = count_failure
        self._pace = Pace(clock)
        self._tasks: dict[Replica, asyncio.Task[None]] = {}

    def follow(self, pool: Pool, replica: Replica) -> None:
        """Read this replica's load from now on, or no longer, as its configuration says."""
        if not replica.config.engine_load.enabled:
            self.forget(replica)
        elif replica not in self._tasks:
            reader = _LoadReader(self._client, pool, replica, self._clock, self._pace, self._count_failure)
            self._tasks[replica] = asyncio.create_task(reader.run(), name=f"load of {replica.url}")

    def forget(self, replica: Replica) -> None:
        """Read it no longer."""
        task = self._tasks.pop(replica, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop all reading."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _LoadReader:
    """Reads one engine's load until cancelled."""

    def __init__(
        self,
        client: Callable[[EngineTls], httpx.AsyncClient],
        pool: Pool,
        replica: Replica,
        clock: Callable[[], float],
        pace: Pace,
        count_failure: CountFailure,
    ) -> None:
        self._client = client
        self._pool = pool
        self._replica = replica
        self._clock = clock
        self._pace = pace
        self._count_failure = count_failure
        self._load = EngineLoad()
        self._path: str | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._told: str | None = None

    async def run(self) -> None:
        self._replica.engine_load = self._load
        try:
            await asyncio.sleep(random.uniform(0, self._replica.config.engine_load.interval_seconds))
            while True:
                await asyncio.sleep(self._pace.further())
                # A replica that takes nothing new needs no opinion, and a new one not before its first probe.
                if self._replica.state is State.READY:
                    await self._read()
                await asyncio.sleep(self._replica.config.engine_load.interval_seconds * random.uniform(0.8, 1.2))
        finally:
            self._expire()
            if self._replica.engine_load is self._load:
                self._replica.engine_load = None

    async def _read(self) -> None:
        replica, asked_at = self._replica, self._clock()
        self._load.begin(replica.inflight + replica.elsewhere)
        try:
            reading = read_load(await self._page())
        except _FailedError as failure:
            self._failed(failure.kind, failure.trouble)
        except UnreadableError as error:
            self._path = None
            self._failed("unreadable", Trouble("unreadable", f"{error}: {load_advice(replica.config)}"))
        except Exception:  # whatever it is, the next reading must be tried
            _log.exception("reading the load of %s failed", replica.url)
            self._failed("internal", Trouble("internal", "the gateway failed to read it"))
        else:
            outside = self._load.finish(reading, replica.inflight + replica.elsewhere, asked_at)
            self._pool.found_outside(replica, outside)
            self._expire_at(asked_at + replica.config.engine_load.stale_after_seconds)
            self._tell(None)

    async def _page(self) -> str:
        """The text of the first path that the engine has; that path is kept for the next time."""
        config = self._replica.config
        paths = load_paths(config)
        known = (self._path,) if self._path in paths else paths
        status = 0
        for path in known:
            response = await self._get(path)
            status = response.status_code
            if status == 200:
                self._path = path
                return response.text
        self._path = None
        trouble = Trouble(str(status), f"{status} from {known[-1]}: {load_advice(config)}")
        raise _FailedError("status", trouble)

    async def _get(self, path: str) -> httpx.Response:
        try:
            response = await ask(self._client(self._replica.config.tls), self._replica, path)
        except httpx.TimeoutException as error:
            raise _FailedError("timeout", Trouble("timeout", "no answer in time")) from error
        except httpx.HTTPError as error:
            raise _FailedError("unreachable", unreachable(error)) from error
        if len(response.content) > _LARGEST_PAGE:
            raise _FailedError("unreadable", Trouble("size", f"{path} has {len(response.content)} bytes"))
        return response

    def _failed(self, kind: LoadTrouble, trouble: Trouble) -> None:
        self._count_failure(self._pool, kind)
        self._load.error = trouble.text
        self._tell(trouble)

    def _expire_at(self, when: float) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = asyncio.get_running_loop().call_later(when - self._clock(), self._expire)

    def _expire(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._load.forget()
        self._pool.found_outside(self._replica, 0)

    def _tell(self, trouble: Trouble | None) -> None:
        """Log the first failure and each that is of another kind than the one before, and that it works again."""
        told, self._told = self._told, trouble and trouble.kind
        if self._told == told:
            return
        where = f"{self._pool.model}/{self._pool.role} replica {self._replica.url}"
        if trouble is None:
            _log.info("%s says again how many requests it holds", where)
        else:
            _log.warning("%s does not say how many requests it holds: %s", where, trouble.text)
