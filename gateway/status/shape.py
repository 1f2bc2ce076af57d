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


class Model(msgspec.Struct):
    """One model. `source` says where its counts come from, since when."""

    name: str
    pools: dict[str, Pool]
    aliases: list[str] = []
    policy: dict[str, Any] = {}
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
