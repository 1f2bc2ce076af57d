"""Which paths are relayed, and how each is read. Whatever else an engine serves under /v1/ is relayed unread."""

from typing import NamedTuple
from urllib.parse import unquote

from gateway.api.errors import ApiError


class Endpoint(NamedTuple):
    """`methods` None: any. `needs_json`: the body must be JSON. `asks_usage`: streams take `stream_options`."""

    methods: tuple[str, ...] | None = None
    needs_json: bool = False
    asks_usage: bool = False


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
    "/v1/messages": _JSON,
    "/v1/messages/count_tokens": _JSON,
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
        ApiError: 405 for a method it doesn't have, 400 or 404 for a path that would be another one at the engine.
    """
    endpoint = _ENDPOINTS.get(path)
    if endpoint is None:
        _check_path(path)
        endpoint = _OTHER
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


def _check_path(path: str) -> None:
    """Refuse what engines, or proxies before them, may read as another path than the one that was looked at here.

    Refused rather than mended: what is sent on is then what was asked for, and the client hears of its mistake.
    """
    # A proxy that decodes, before an engine that does, decodes twice.
    if _has_odd_segments(path) or ("%" in path and _has_odd_segments(unquote(path))):
        raise ApiError(
            400,
            "The path has a segment that is empty, '.' or '..'. Send it without: /v1/chat/completions, for example.",
            code="invalid_path",
        )
    if path[-1:] == "/" and path.rstrip("/") in _ENDPOINTS:
        # Engines would redirect to it, with their own address.
        raise ApiError(404, f"There is nothing at {path}. Leave out the slash at its end.", code="unknown_path")


def _has_odd_segments(path: str) -> bool:
    # Some take a backslash for a slash, and what follows a semicolon for a parameter of its segment.
    *segments, last = [segment.partition(";")[0] for segment in path.replace("\\", "/")[1:].split("/")]
    return "" in segments or not {".", ".."}.isdisjoint((*segments, last))
