"""The demo's gateway from outside: its configuration, and what it says of itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import msgspec
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gateway.demo.engines import MODEL_NAME
from gateway.demo.process import Child

HOST = "127.0.0.1"
START_SECONDS = 30.0
LOOK_SECONDS = 0.1
SETTLE_SECONDS = 5.0


class ReplicaStatus(msgspec.Struct):
    """One replica in /status."""

    url: str


class PoolStatus(msgspec.Struct):
    """One pool in /status."""

    inflight: int
    limit: int | None
    ready: int
    replicas: list[ReplicaStatus]


class ModelStatus(msgspec.Struct):
    """One model in /status."""

    name: str
    pools: dict[str, PoolStatus]

    @property
    def inflight(self) -> dict[str, int]:
        """Requests in flight by pool."""
        return {name: pool.inflight for name, pool in self.pools.items()}

    @property
    def urls(self) -> dict[str, list[str]]:
        """The replicas' URLs by pool."""
        return {name: [replica.url for replica in pool.replicas] for name, pool in self.pools.items()}


class _Status(msgspec.Struct):
    models: list[ModelStatus]


def write_config(path: Path, *, port: int, engines: Mapping[str, str], threshold: int, slots: int) -> str:
    """Writes the gateway's file; returns its URL. `engines`: each pool's URL; `slots`: what each serves at once."""
    pools = {
        pool: {"engine": "llamacpp", "max_inflight": slots, "discovery": {"static": [url]}}
        for pool, url in engines.items()
    }
    policy = {"kind": "threshold", "mode": "spill", "threshold": threshold, "allow_pinning": True}
    config = {
        "listen": {"host": HOST, "port": port},
        "models": [{"name": MODEL_NAME, "policy": policy, "pools": pools}],
        "drain": {"delay_seconds": 0, "timeout_seconds": 3},
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return f"http://{HOST}:{port}"


def start(
    stack: ExitStack, folder: Path, *, port: int, engines: Mapping[str, str], threshold: int, slots: int
) -> tuple[Child, str]:
    """Starts a gateway that `stack` stops, its files in `folder`; returns it with its URL once it is ready.

    The arguments are those of `write_config`. Raises ChildFailedError when it ends, as on a port that another holds.
    """
    config = folder / "gateway.yaml"
    url = write_config(config, port=port, engines=engines, threshold=threshold, slots=slots)
    gateway = Child("gateway", "gateway.cli", ["serve", "--config", str(config)], folder / "gateway.log")
    stack.enter_context(gateway)
    gateway.wait_until(partial(is_ready, url, engines), START_SECONDS)
    return gateway, url


def is_ready(url: str, engines: Mapping[str, str]) -> bool:
    """Whether a gateway in front of exactly these engines, by pool, is ready there.

    /ready alone does not tell it from another demo's gateway, which can take the port between its check and its use.
    """
    try:
        with httpx.Client(base_url=url, trust_env=False, timeout=5) as http:
            http.get("/ready").raise_for_status()
            status = http.get("/status").raise_for_status()
        models = msgspec.json.decode(status.content, type=_Status).models
    except (httpx.HTTPError, msgspec.DecodeError):
        return False
    wanted = {pool: [engine] for pool, engine in engines.items()}
    return bool(models) and all(model.urls == wanted for model in models)


class Observer:
    """Looks at /status again and again, and keeps the most requests it saw in flight in each pool."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        """`http` has the gateway's URL as its base."""
        self._http = http
        self.looks = 0
        self.peak: dict[str, int] = {}
        self.over_limit = 0
        self.unanswered = 0

    async def status(self) -> ModelStatus:
        """The model's part of /status. Raises httpx.HTTPError or msgspec.DecodeError."""
        response = (await self._http.get("/status")).raise_for_status()
        return msgspec.json.decode(response.content, type=_Status).models[0]

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Looks while the block runs."""
        looking = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def _watch(self) -> None:
        while True:
            try:
                self._note(await self.status())
            except httpx.HTTPError:
                self.unanswered += 1
            await asyncio.sleep(LOOK_SECONDS)

    def _note(self, status: ModelStatus) -> None:
        self.looks += 1
        for name, pool in status.pools.items():
            self.peak[name] = max(self.peak.get(name, 0), pool.inflight)
            self.over_limit += pool.limit is not None and pool.inflight > pool.limit

    async def settled(self) -> ModelStatus:
        """The status once nothing is in flight, or after SETTLE_SECONDS as it is then.

        A request's end is booked a moment after its client has seen it.
        """
        for _ in range(round(SETTLE_SECONDS / LOOK_SECONDS)):
            if not any((await self.status()).inflight.values()):
                break
            await asyncio.sleep(LOOK_SECONDS)
        return await self.status()

    async def requests(self) -> dict[tuple[str, str], int]:
        """spillway_requests_total by pool and status code. Raises httpx.HTTPError."""
        return parse_requests((await self._http.get("/metrics")).raise_for_status().text)


def parse_requests(text: str) -> dict[tuple[str, str], int]:
    """spillway_requests_total by pool and status code, from a metrics page; zeros are left out."""
    counted: Counter[tuple[str, str]] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "spillway_requests_total" and sample.value:
                counted[sample.labels["pool"], sample.labels["code"]] += int(sample.value)
    return counted
