"""The configuration file as types. Field names are a public contract; durations are seconds, sizes are bytes."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from .discovery import Discovery
from .engine_load import EngineLoad
from .policies import AdaptivePolicy, PinnedPolicy, Policy, ThresholdPolicy
from .redis import Redis
from .section import Comparison, Contradictions, Section
from .values import (
    Count,
    Host,
    Key,
    Name,
    Origin,
    Port,
    PositiveInt,
    Ratio,
    Seconds,
    SecondsOrZero,
    UrlPath,
)

EngineKind = Literal["sglang", "vllm", "llamacpp", "openai"]


class Listen(Section):
    """An address to serve on; with both TLS files, over TLS."""

    host: Host = "0.0.0.0"
    """Address to bind; `::` for IPv6."""
    port: Port = 8080
    """TCP port; 0 takes a free one."""
    tls_cert: Path | None = None
    """PEM certificate chain."""
    tls_key: Path | None = None
    """PEM private key of `tls_cert`, without a passphrase."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._tls_files_together,)

    def _tls_files_together(self) -> Contradictions:
        if (self.tls_cert is None) != (self.tls_key is None):
            given, missing = ("tls_cert", "tls_key") if self.tls_key is None else ("tls_key", "tls_cert")
            yield (missing,), f"is needed with {given}: give both or neither"


class Health(Section):
    """When a replica counts as dead, and when it may come back."""

    path: UrlPath | None = None
    """Path that is probed; by default the engine's own."""
    interval: Seconds = 2.0
    """Seconds between probes of one replica."""
    timeout: Seconds = 5.0
    """Seconds a probe may take."""
    unhealthy_after: PositiveInt = 2
    """Probes in a row that are refused or answered with an error and make a replica unready."""
    hang_seconds: Seconds = 30.0
    """Seconds of unanswered probes, with no byte on any connection, that make a replica unready."""
    eject_after: PositiveInt = 3
    """Failed requests in a row that eject a replica."""
    eject_seconds: Seconds = 1.0
    """Seconds of the first ejection; each further one doubles it."""
    eject_max_seconds: Seconds = 60.0
    """Seconds of the longest ejection."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._ejection_grows,)

    def _ejection_grows(self) -> Contradictions:
        if self.eject_max_seconds < self.eject_seconds:
            yield ("eject_max_seconds",), f"must not be below eject_seconds, which is {self.eject_seconds:g}"


class EngineTls(Section):
    """How an https engine's certificate is checked."""

    ca_file: Path | None = None
    """PEM certificates to trust instead of the system's."""
    verify: bool = True
    """Whether the certificate is checked at all."""


class PoolConfig(Section):
    """Replicas launched with one profile."""

    engine: EngineKind = "openai"
    """What serves: decides the health path; `openai` assumes only the API."""
    engine_model: Name | None = None
    """Model name the engine is asked for, when it differs from the client's."""
    api_key: Key | None = Field(default=None, repr=False)
    """Key presented to the engine as a bearer token."""
    max_inflight: PositiveInt = 128
    """In-flight requests per replica beyond which the pool is full."""
    discovery: Discovery
    """Where the replicas are."""
    health: Health = Health()
    """When a replica counts as dead."""
    engine_load: EngineLoad = EngineLoad()
    """Whether engines are asked what they hold."""
    tls: EngineTls = EngineTls()
    """How an https engine is trusted."""


class Pools(Section):
    """A model's pools by role; at least one."""

    speculative: PoolConfig | None = None
    """Replicas with speculative decoding."""
    baseline: PoolConfig | None = None
    """Replicas without it."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._one_at_least,)

    def _one_at_least(self) -> Contradictions:
        if self.speculative is None and self.baseline is None:
            yield (), "is empty: give a speculative pool, a baseline pool, or both"

    def shared(self) -> list[str]:
        """URLs that stand in both pools: allowed, to try things out, though one engine is then counted as two."""
        first, second = (
            set(pool.discovery.static or ()) if pool else set() for pool in (self.speculative, self.baseline)
        )
        return sorted(first & second)


class ModelConfig(Section):
    """One name that clients ask for."""

    name: Name
    """The name clients put in `model`."""
    aliases: tuple[Name, ...] = ()
    """Other names for it."""
    policy: Policy = ThresholdPolicy()
    """How a request's pool is chosen."""
    pools: Pools
    """The engines that serve it."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._pinned_pool_exists, self._threshold_fits_pool, self._fallback_fits_pool)

    def _pinned_pool_exists(self) -> Contradictions:
        if isinstance(self.policy, PinnedPolicy) and getattr(self.pools, self.policy.pool) is None:
            yield ("policy", "pool"), f"is {self.policy.pool}, a pool that this model does not have"

    def _threshold_fits_pool(self) -> Contradictions:
        pool = self.pools.speculative
        if isinstance(self.policy, ThresholdPolicy) and pool is not None and self.policy.threshold > pool.max_inflight:
            reason = f"must not exceed pools.speculative.max_inflight, which is {pool.max_inflight}"
            yield ("policy", "threshold"), reason

    def _fallback_fits_pool(self) -> Contradictions:
        policy, pool = self.policy, self.pools.speculative
        if isinstance(policy, AdaptivePolicy) and pool is not None and policy.fallback.threshold > pool.max_inflight:
            reason = f"must not exceed pools.speculative.max_inflight, which is {pool.max_inflight}"
            yield ("policy", "fallback", "threshold"), reason


class Limits(Section):
    """What one client or engine may take."""

    body_bytes: PositiveInt = 64 * 1024 * 1024
    """Largest request body; beyond it, 413."""
    header_bytes: PositiveInt = 64 * 1024
    """Largest request head."""
    header_seconds: Seconds = 10.0
    """Seconds a client may take to send the request head."""
    body_seconds: Seconds = 30.0
    """Seconds a client may pause within a request body, or fall behind 1 KiB a second; then 408."""
    connect_seconds: Seconds = 2.0
    """Seconds to connect to an engine."""
    first_byte_seconds: Seconds = 600.0
    """Seconds an engine may take until its first byte."""
    idle_seconds: Seconds = 300.0
    """Seconds an engine may send nothing within a response."""
    client_stall_seconds: Seconds = 300.0
    """Seconds a client may leave a response unread."""


class Retries(Section):
    """Second tries before the first byte: per request, and as a share of all requests (a token bucket)."""

    attempts: PositiveInt = 3
    """Tries per request, the first included."""
    ratio: Ratio = 0.2
    """Retries that each request adds to the bucket."""
    burst: Count = 500
    """Retries the bucket holds."""


class Drain(Section):
    """After SIGTERM: unready but serving for delay_seconds, then in-flight streams get timeout_seconds to finish."""

    delay_seconds: SecondsOrZero = 5.0
    """Seconds to keep serving while load balancers notice."""
    timeout_seconds: SecondsOrZero = 600.0
    """Seconds that in-flight requests then have to finish."""


class Auth(Section):
    """Keys that clients must present; with neither field, everybody may call."""

    keys: tuple[Key, ...] = Field(default=(), repr=False)
    """Accepted keys."""
    keys_file: Path | None = None
    """File with one accepted key a line; blank lines and lines starting with `#` are skipped."""


class Cors(Section):
    """Which web pages may call the API from a browser; without origins, none but the gateway's own."""

    allowed_origins: tuple[Origin, ...] = ()
    """Origins whose pages may call, as browsers send them; `*` allows all."""


class Log(Section):
    """What is written to standard output."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe message that is written."""
    access: bool = True
    """Whether each request is written as one line."""


class Config(Section):
    """The whole file."""

    listen: Listen = Listen()
    """Where clients connect."""
    admin: Listen | None = None
    """Where `/metrics`, `/status` and `/ui` are served instead of on `listen`."""
    models: Annotated[tuple[ModelConfig, ...], Field(min_length=1)]
    """What clients may ask for."""
    limits: Limits = Limits()
    """Bounds on requests and waits."""
    retries: Retries = Retries()
    """Second tries after a failure."""
    drain: Drain = Drain()
    """How the gateway stops."""
    auth: Auth = Auth()
    """Who may call."""
    cors: Cors = Cors()
    """Which web pages may call."""
    log: Log = Log()
    """What is logged."""
    redis: Redis | None = None
    """Where several gateways share their counts; without it each counts for itself."""

    def warnings(self) -> list[str]:
        """What is allowed and seldom meant."""
        return [
            f"models[{index}].pools: {url} stands in both pools, so this one engine is counted as two"
            for index, model in enumerate(self.models)
            for url in model.pools.shared()
        ]

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._addresses_differ, self._names_differ)

    def _addresses_differ(self) -> Contradictions:
        if (
            self.admin is not None
            and self.admin.port
            and (self.admin.host, self.admin.port)
            == (
                self.listen.host,
                self.listen.port,
            )
        ):
            yield ("admin",), "is the address of listen: choose another, or leave admin out to serve both there"

    def _names_differ(self) -> Contradictions:
        seen: dict[str, int] = {}
        for index, model in enumerate(self.models):
            aliases = [(("aliases", number), alias) for number, alias in enumerate(model.aliases)]
            for place, name in ((("name",), model.name), *aliases):
                if name in seen:
                    yield ("models", index, *place), f"{name!r} is already a name of models[{seen[name]}]"
                seen[name] = index
