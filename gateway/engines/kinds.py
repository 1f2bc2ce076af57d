"""What differs between engines."""

from gateway.config import PoolConfig

# SGLang's and vLLM's /health ask the HTTP server alone: they cost no generated token.
_HEALTH_PATHS = {"sglang": "/health", "vllm": "/health", "llamacpp": "/health", "openai": "/v1/models"}


def health_path(config: PoolConfig) -> str:
    """The path whose answer tells whether an engine of this pool is well."""
    return config.health.path or _HEALTH_PATHS[config.engine]
