"""A probe of an engine that costs no token."""

import httpx


def is_ready(url: str, timeout: float) -> bool:
    """Whether the engine has loaded and is not draining: SGLang answers 503 before and after, and refuses at first.

    Costs no token where SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION is 0, as in all profiles.
    """
    try:
        return httpx.get(f"{url}/health", timeout=timeout, trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
