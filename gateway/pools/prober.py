"""Asks each replica, now and then, whether it is well."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from typing import Any, Protocol

import httpx

from gateway.config import EngineTls
from gateway.engines import health_path
from gateway.pools.ask import ask
from gateway.pools.pace import Pace
from gateway.pools.pool import Pool
from gateway.pools.replica import Replica
from gateway.pools.trouble import PROBES, UNPROBED, Trouble, unanswered, unreachable, unwell

_log = logging.getLogger(__name__)
_MODELS_SECONDS = 60.0
_OTHER_PATH = {"/health": "/v1/models", "/v1/models": "/health"}
# However many requests fail at once, a replica is not probed more often than this.
_LEAST_PAUSE = 0.1


class Traffic(Protocol):
    """The data plane's view of a replica."""

    def progress(self, replica: Replica) -> int:
        """A number that grows with every read from the engine."""
        ...

    def abort(self, replica: Replica) -> None:
        """Break the connections in use: the engine is gone and will not answer on them."""
        ...


class Prober:
    """Probes one replica until cancelled."""

    def __init__(
        self,
        client: Callable[[EngineTls], httpx.AsyncClient],
        pool: Pool,
        replica: Replica,
        traffic: Traffic,
        clock: Callable[[], float],
        pace: Pace | None = None,
    ) -> None:
        """`client` is asked before each probe, `clock` gives monotonic seconds, `pace` is shared with other probers."""
        self._pace = pace or Pace(clock)
        self._client = client
        self._pool = pool
        self._replica = replica
        self._traffic = traffic
        self._clock = clock
        self._hurry = asyncio.Event()
        self._models_at = -_MODELS_SECONDS
        self._heard = 0
        self._told: Trouble | None = UNPROBED

    def hurry(self) -> None:
        """Probe now: a request has failed."""
        self._hurry.set()

    async def run(self) -> None:
        """Probe at once, then every `health.interval` seconds give or take a fifth, or when it is this one's turn."""
        await asyncio.sleep(self._pace.first())
        while True:
            try:
                await self._probe()
            except Exception:  # whatever it is, this replica must be probed again
                _log.exception("probing %s failed", self._replica.url)
                self._replica.health.probe_failed(PROBES)
                self._pool.refresh(self._replica)
            await asyncio.sleep(_LEAST_PAUSE)
            pause = self._replica.health.settings.interval * random.uniform(0.8, 1.2) - _LEAST_PAUSE
            if not await self._hurried(pause):
                await self._hurried(self._pace.further())
            self._hurry.clear()

    async def _hurried(self, seconds: float) -> bool:
        """Wait so long, unless told to hurry; whether it was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
                return True
        return False

    async def _probe(self) -> None:
        replica, health = self._replica, self._replica.health
        started = self._clock()
        if not health.silent:
            self._heard = self._traffic.progress(replica)
        try:
            response = await self._get(health_path(replica.config))
        except httpx.TimeoutException as error:
            now, heard = self._clock(), self._traffic.progress(replica)
            progressed, self._heard = heard != self._heard, heard
            cause = unanswered(error)
            if isinstance(error, httpx.ConnectTimeout):
                health.probe_failed(cause)
            health.probe_unanswered(started, now, cause, progressed=progressed)
            if health.hangs(now):
                self._traffic.abort(replica)
        except httpx.HTTPError as error:
            health.probe_failed(unreachable(error))
        else:
            bad = await self._judge(response)
            if bad is None:
                health.probe_succeeded(self._clock())
            else:
                health.probe_failed(bad, answered=True)
        self._tell(health.trouble)
        # Even if it ends as it began: requests may have had it ejected meanwhile.
        self._pool.refresh(replica)
        if health.ready and self._clock() - self._models_at >= _MODELS_SECONDS:
            await self._read_models()

    async def _judge(self, response: httpx.Response) -> Trouble | None:
        """What an answer says is wrong. Where the engine lacks the kind's own path, the other usual one decides."""
        config, path = self._replica.config, response.request.url.path
        configured = config.health.path is not None
        bad = unwell(response.status_code, path, configured=configured, engine=config.engine)
        if response.status_code == 404 and not configured:
            with contextlib.suppress(httpx.HTTPError):
                second = await self._get(_OTHER_PATH[health_path(config)])
                if unwell(second.status_code, path, configured=configured, engine=config.engine) is None:
                    return None
        return bad

    def _tell(self, trouble: Trouble | None) -> None:
        """Log the first verdict and each that is of another kind than the one before."""
        told, self._told = self._told, trouble
        if (trouble and trouble.kind) == (told and told.kind):
            return
        where = f"{self._pool.model}/{self._pool.role} replica {self._replica.url}"
        if trouble is None:
            _log.info("%s is ready", where)
        else:
            _log.warning("%s is ejected: %s", where, trouble.text)

    async def _read_models(self) -> None:
        """What the engine says of its models: context length and the like, for /v1/models."""
        with contextlib.suppress(httpx.HTTPError, ValueError, RecursionError):
            listing: Any = (await self._get("/v1/models")).json()
            entries = listing.get("data") if isinstance(listing, dict) else None
            if isinstance(entries, list):
                self._replica.engine_models = tuple(entry for entry in entries if isinstance(entry, dict))
        self._models_at = self._clock()

    async def _get(self, path: str) -> httpx.Response:
        return await ask(self._client(self._replica.config.tls), self._replica, path)
