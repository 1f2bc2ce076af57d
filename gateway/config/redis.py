"""The `redis` section: where several gateways keep their in-flight counts together."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from .section import Comparison, Contradictions, Section
from .values import Count, Key, KeyPrefix, Name, PositiveInt, RedisUrl, Seconds


class RedisTls(Section):
    """How the certificates behind `rediss://` are checked."""

    ca_file: Path | None = None
    """PEM certificates to trust instead of the system's."""
    verify: bool = True
    """Whether the certificates are checked at all."""


class Redis(Section):
    """Counts shared by all gateways that name the same Redis or Valkey and `key_prefix`; a restart changes it."""

    mode: Literal["single", "sentinel", "cluster"] = "single"
    """`single`: one server; `sentinel`: the master that the Sentinels name; `cluster`: Redis Cluster."""
    urls: Annotated[tuple[RedisUrl, ...], Field(min_length=1)]
    """The server; with `sentinel` the Sentinels, with `cluster` some of the nodes."""
    service: Name | None = None
    """With `sentinel`: the name under which the Sentinels know the master."""
    database: Count = 0
    """Number of the database; a cluster has only 0."""
    username: Key | None = Field(default=None, repr=False)
    """ACL user; without one, the user `default`."""
    password: Key | None = Field(default=None, repr=False)
    """Password of the user."""
    sentinel_username: Key | None = Field(default=None, repr=False)
    """ACL user at the Sentinels."""
    sentinel_password: Key | None = Field(default=None, repr=False)
    """Password at the Sentinels."""
    tls: RedisTls = RedisTls()
    """How `rediss://` is trusted."""
    key_prefix: KeyPrefix = "spillway"
    """First part of every key; gateways share counts only with those of the same prefix."""
    heartbeat_seconds: Seconds = 1.0
    """Seconds between signs of life of one gateway."""
    expiry_seconds: Seconds = 3.0
    """Seconds without a sign of life after which a gateway's requests no longer count."""
    timeout_seconds: Seconds = 0.1
    """Seconds that an answer may take before the gateway decides by itself."""
    expected_gateways: PositiveInt = 1
    """Gateways to reckon with while Redis has not yet said how many there are."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._one_server, self._service_with_sentinel, self._cluster_database, self._schemes, self._times)

    def _one_server(self) -> Contradictions:
        if self.mode == "single" and len(self.urls) > 1:
            yield ("urls",), "names several servers: give one, or set mode to sentinel or cluster"

    def _service_with_sentinel(self) -> Contradictions:
        if self.mode == "sentinel" and self.service is None:
            yield ("service",), "is needed with mode sentinel: the master's name, such as mymaster"
        if self.mode != "sentinel":
            for name in ("service", "sentinel_username", "sentinel_password"):
                if getattr(self, name) is not None:
                    yield (name,), f"is for mode sentinel only, and mode is {self.mode}"

    def _cluster_database(self) -> Contradictions:
        if self.mode == "cluster" and self.database:
            yield ("database",), "must be 0: a cluster has no other"

    def _schemes(self) -> Contradictions:
        if len({url.partition("://")[0] for url in self.urls}) > 1:
            yield ("urls",), "mixes redis:// and rediss://: give all with TLS or none"

    def _times(self) -> Contradictions:
        if self.expiry_seconds < 2 * self.heartbeat_seconds:
            yield ("expiry_seconds",), f"must be at least twice heartbeat_seconds, which is {self.heartbeat_seconds:g}"
        if self.timeout_seconds > self.heartbeat_seconds:
            yield ("timeout_seconds",), f"must not exceed heartbeat_seconds, which is {self.heartbeat_seconds:g}"
