"""What differs between engines."""

from gateway.config import PoolConfig

# vLLM's /health asks the HTTP server alone. So does SGLang's with SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=0; else it
# generates a token.
_HEALTH_PATHS = {"sglang": "/health", "vllm": "/health", "llamacpp": "/health", "openai": "/v1/models"}


def health_path(config: PoolConfig) -> str:
    """The path whose answer tells whether an engine of this pool is well."""
    return config.health.path or _HEALTH_PATHS[config.engine]
