"""A probe of an engine that costs no token."""

import httpx

from spillway_engine.unreached import why


def unready(url: str, timeout: float) -> str | None:
    """Why the engine is not ready, None if it is: SGLang answers 503 while it loads and drains, and refuses at first.

    Costs no token where SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION is 0, as in all profiles.
    """
    try:
        status = httpx.get(f"{url}/health", timeout=timeout, trust_env=False).status_code
    except httpx.TransportError as error:
        return f"no engine answers at {url}: {why(error)}"
    return None if status == httpx.codes.OK else f"{status} from {url}/health: the engine loads, or is about to end"
