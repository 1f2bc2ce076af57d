"""Which paths are relayed, and how each is read. Whatever else an engine serves under /v1/ is relayed unread."""

from typing import Literal, NamedTuple

from gateway.api.errors import ApiError

ErrorStyle = Literal["openai", "anthropic"]


class Endpoint(NamedTuple):
    """`methods` None: any. `needs_json`: the body must be JSON. `asks_usage`: streams take `stream_options`."""

    methods: tuple[str, ...] | None = None
    needs_json: bool = False
    asks_usage: bool = False
    error_style: ErrorStyle = "openai"


_POST = ("POST",)
_JSON = Endpoint(_POST, needs_json=True)
_GENERATES = Endpoint(_POST, needs_json=True, asks_usage=True)
_OTHER = Endpoint()

_ENDPOINTS = {
    "/v1/chat/completions": _GENERATES,
    "/v1/completions": _GENERATES,
    "/v1/embeddings": _JSON,
    "/v1/responses": _JSON,
    "/v1/rerank": _JSON,
    "/v1/score": _JSON,
    "/v1/messages": Endpoint(_POST, needs_json=True, error_style="anthropic"),
    "/v1/audio/speech": _JSON,
    "/v1/audio/transcriptions": Endpoint(_POST),
    "/v1/audio/translations": Endpoint(_POST),
    "/generate": Endpoint(("POST", "PUT"), needs_json=True),
}
_RELAYED_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def is_relayed(path: str) -> bool:
    """Whether this path belongs to the relay rather than to the control plane."""
    return path in _ENDPOINTS or (path.startswith("/v1/") and path != "/v1/models" and path[:11] != "/v1/models/")


def find_endpoint(path: str, method: str) -> Endpoint:
    """How to read a request for this path.

    Raises:
        ApiError: 405 for a method it doesn't have, 400 for a path that climbs.
    """
    if "/." in path and ("/../" in path or path.endswith("/..") or "/./" in path):
        raise ApiError(400, "The path must not contain '.' or '..' segments.", code="invalid_path")
    endpoint = _ENDPOINTS.get(path, _OTHER)
    allowed = endpoint.methods or _RELAYED_METHODS
    if method not in allowed:
        listing = ", ".join(allowed)
        raise ApiError(
            405,
            f"{path} does not take {method}; use {listing}.",
            code="method_not_allowed",
            headers=((b"allow", listing.encode()),),
        )
    return endpoint
