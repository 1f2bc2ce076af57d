"""The configuration file as types. Field names are a public contract; durations are seconds, sizes are bytes."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Role = Literal["speculative", "baseline"]
EngineKind = Literal["sglang", "vllm", "llamacpp", "openai"]

Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\s\"\\]+$")]
EngineUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")]


class Section(BaseModel):
    """A mapping of the file: unknown keys are refused, and a validated one never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Listen(Section):
    """An address to serve on; with both TLS files, over TLS."""

    host: str = "0.0.0.0"
    port: Port = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @model_validator(mode="after")
    def _tls_files_together(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key must be given together")
        return self


class Queue(Section):
    """Requests that wait while every pool of a model is full; beyond it, 429."""

    size: Annotated[int, Field(ge=0)] = 128
    timeout: Seconds = 30.0


class ThresholdPolicy(Section):
    """Speculative pool while in-flight is under threshold x ready replicas, baseline pool over it."""

    kind: Literal["threshold"] = "threshold"
    mode: Literal["spill", "switch"] = "spill"
    threshold: PositiveInt = 5
    resume_below: Annotated[float, Field(gt=0, le=1)] = 0.6
    min_dwell: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0
    queue: Queue = Queue()
    allow_pinning: bool = False


class PinnedPolicy(Section):
    """Every request to one pool: an arm of an experiment."""

    kind: Literal["pinned"]
    pool: Role
    queue: Queue = Queue()
    allow_pinning: bool = False


Policy = Annotated[ThresholdPolicy | PinnedPolicy, Field(discriminator="kind")]


class Discovery(Section):
    """Where a pool's replicas come from."""

    static: Annotated[tuple[EngineUrl, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _urls_differ(self) -> Self:
        if len({url.rstrip("/") for url in self.static}) != len(self.static):
            raise ValueError("static lists one URL twice")
        return self


class Health(Section):
    """When a replica counts as dead, and when it may come back."""

    path: Annotated[str, StringConstraints(pattern=r"^/\S*$")] | None = None
    interval: Seconds = 2.0
    timeout: Seconds = 5.0
    unhealthy_after: PositiveInt = 2
    hang_seconds: Seconds = 30.0
    eject_after: PositiveInt = 3
    eject_seconds: Seconds = 1.0
    eject_max_seconds: Seconds = 60.0


class EngineTls(Section):
    """How an https engine's certificate is checked."""

    ca_file: Path | None = None
    verify: bool = True


class PoolConfig(Section):
    """Replicas launched with one profile."""

    engine: EngineKind = "openai"
    engine_model: Name | None = None
    api_key: str | None = None
    max_inflight: PositiveInt = 128
    discovery: Discovery
    health: Health = Health()
    tls: EngineTls = EngineTls()


class Pools(Section):
    """A model's pools by role; at least one."""

    speculative: PoolConfig | None = None
    baseline: PoolConfig | None = None

    @model_validator(mode="after")
    def _one_at_least(self) -> Self:
        if self.speculative is None and self.baseline is None:
            raise ValueError("give a speculative pool, a baseline pool, or both")
        return self


class ModelConfig(Section):
    """One name that clients ask for."""

    name: Name
    aliases: tuple[Name, ...] = ()
    policy: Policy = ThresholdPolicy()
    pools: Pools

    @model_validator(mode="after")
    def _policy_fits_pools(self) -> Self:
        if self.policy.kind == "pinned" and getattr(self.pools, self.policy.pool) is None:
            raise ValueError(f"policy pins to the {self.policy.pool} pool, which this model does not have")
        speculative = self.pools.speculative
        if self.policy.kind == "threshold" and speculative and self.policy.threshold > speculative.max_inflight:
            raise ValueError(
                f"policy.threshold {self.policy.threshold} exceeds pools.speculative.max_inflight {speculative.max_inflight}"
            )
        return self


class Limits(Section):
    """What one client or engine may take."""

    body_bytes: PositiveInt = 64 * 1024 * 1024
    header_bytes: PositiveInt = 64 * 1024
    header_seconds: Seconds = 10.0
    body_seconds: Seconds = 30.0
    connect_seconds: Seconds = 2.0
    first_byte_seconds: Seconds = 600.0
    idle_seconds: Seconds = 300.0
    client_stall_seconds: Seconds = 300.0


class Retries(Section):
    """Second tries before the first byte: per request, and as a share of all requests (a token bucket)."""

    attempts: PositiveInt = 3
    ratio: Annotated[float, Field(ge=0, le=1)] = 0.2
    burst: Annotated[int, Field(ge=0)] = 500


class Drain(Section):
    """After SIGTERM: unready but serving for delay_seconds, then in-flight streams get timeout_seconds to finish."""

    delay_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5.0
    timeout_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 600.0


class Auth(Section):
    """Keys that clients must present; with neither field, everybody may call."""

    keys: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = ()
    keys_file: Path | None = None


class Log(Section):
    """What is written to standard output."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    access: bool = True


class Config(Section):
    """The whole file."""

    listen: Listen = Listen()
    admin: Listen | None = None
    models: Annotated[tuple[ModelConfig, ...], Field(min_length=1)]
    limits: Limits = Limits()
    retries: Retries = Retries()
    drain: Drain = Drain()
    auth: Auth = Auth()
    log: Log = Log()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: dict[str, str] = {}
        for model in self.models:
            for name in (model.name, *model.aliases):
                if name in seen:
                    raise ValueError(f"the name {name!r} is given to both {seen[name]!r} and {model.name!r}")
                seen[name] = model.name
        return self
