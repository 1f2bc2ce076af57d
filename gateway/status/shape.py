"""The answer of /status as types. Fields that older gateways do not have are optional, those of newer ones ignored."""

from typing import Any

import msgspec


class EngineLoad(msgspec.Struct):
    """What an engine says it holds."""

    count: int | None = None
    error: str | None = None


class Replica(msgspec.Struct):
    """One engine. `inflight` is over all gateways, `inflight_here` this gateway's own."""

    url: str
    inflight: int
    state: str
    error: str | None = None
    inflight_here: int | None = None
    outside: int = 0
    engine_load: EngineLoad | None = None


class Pool(msgspec.Struct):
    """One pool. `limit` is that of all gateways together, `share` what this one may hold of it by itself."""

    inflight: int
    limit: int
    ready: int
    replicas: list[Replica]
    inflight_here: int | None = None
    share: int | None = None
    outside: int = 0


class Point(msgspec.Struct):
    """`rate`: tokens per second of one request with so many on a replica."""

    inflight: int
    rate: float


class Learned(msgspec.Struct):
    """How fast a pool is, from so many requests, the last of which ended `age` seconds ago."""

    requests: int = 0
    age: float | None = None
    curve: list[Point] = []


class Adaptive(msgspec.Struct):
    """What the policy `adaptive` knows. `crossover`: from how many on a speculative replica the next goes elsewhere."""

    mode: str | None = None
    crossover: int | None = None
    pools: dict[str, Learned] = {}


class Model(msgspec.Struct):
    """One model. `source` says where its counts come from, since when."""

    name: str
    pools: dict[str, Pool]
    aliases: list[str] = []
    policy: dict[str, Any] = {}
    adaptive: Adaptive | None = None
    queued: int = 0
    gateways: int = 1
    source: str = "local"
    since: str | None = None


class Redis(msgspec.Struct):
    """How the gateway stands with Redis."""

    state: str
    since: str | None = None
    mode: str | None = None
    address: str | None = None
    error: str | None = None


class Status(msgspec.Struct):
    """The whole answer."""

    version: str
    models: list[Model]
    draining: bool = False
    gateway: str | None = None
    redis: Redis | None = None
