"""The configuration: one YAML file plus environment overrides, validated as a whole and reloaded when it changes."""

from .discovery import Discovery, Kubernetes
from .engine_load import EngineLoad
from .errors import ConfigError, Problem, Source
from .load import Loaded, load_config
from .policies import AdaptivePolicy, PinnedPolicy, Policy, Queue, Role, ThresholdPolicy
from .redis import Redis, RedisTls
from .render import effective_yaml
from .schema import (
    Auth,
    Config,
    Cors,
    Drain,
    EngineKind,
    EngineTls,
    Health,
    Limits,
    Listen,
    Log,
    ModelConfig,
    PoolConfig,
    Pools,
    Retries,
)
from .watch import ConfigWatcher, ReloadResult

__all__ = [
    "AdaptivePolicy",
    "Auth",
    "Config",
    "ConfigError",
    "ConfigWatcher",
    "Cors",
    "Discovery",
    "Drain",
    "EngineKind",
    "EngineLoad",
    "EngineTls",
    "Health",
    "Kubernetes",
    "Limits",
    "Listen",
    "Loaded",
    "Log",
    "ModelConfig",
    "PinnedPolicy",
    "Policy",
    "PoolConfig",
    "Pools",
    "Problem",
    "Queue",
    "Redis",
    "RedisTls",
    "ReloadResult",
    "Retries",
    "Role",
    "Source",
    "ThresholdPolicy",
    "effective_yaml",
    "load_config",
]
