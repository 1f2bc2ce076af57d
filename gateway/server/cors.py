"""Which web pages may call the API from a browser: the server's side of CORS.

https://fetch.spec.whatwg.org/#http-cors-protocol. Credentials in that sense (cookies) are not allowed, as the gateway
knows none: clients' keys are headers that a page sets itself.
"""

from collections.abc import Iterable
from typing import Any

from gateway.api.errors import JSON, ApiError, style_of

Headers = Iterable[tuple[bytes, bytes]]

_ORIGIN = b"access-control-allow-origin"
_EXPOSED = (b"access-control-expose-headers", b"*")
_VARIES = (b"vary", b"origin")
_METHODS = b"GET, POST, PUT, PATCH, DELETE"
# Browsers ask again after this; it is how long a page that is no longer allowed may go on.
_MAX_AGE = b"600"


class CrossOrigin:
    """The origins whose pages may read what the API answers."""

    def __init__(self, origins: Iterable[str]) -> None:
        """`*` stands for all."""
        named = [origin.encode() for origin in origins]
        self._others: tuple[tuple[bytes, bytes], ...] = (_VARIES,)
        if b"*" in named:
            self._others = ((_ORIGIN, b"*"), _EXPOSED)
            named = []
        self._of = {origin: ((_ORIGIN, origin), _EXPOSED, _VARIES) for origin in named}

    def headers(self, path: str, sent: Headers) -> tuple[tuple[bytes, bytes], ...]:
        """What a response gets, whatever its status, by the request's path and headers; nothing outside the API."""
        if not _is_api(path):
            return ()
        if not self._of:
            return self._others
        return self._of.get(_value(sent, b"origin"), self._others)

    def allows(self, origin: bytes) -> bool:
        """Whether pages of this origin may call."""
        return not self._of or origin in self._of


def is_preflight(scope: dict[str, Any]) -> bool:
    """Whether with this OPTIONS a browser asks what a page may do."""
    sent = scope["headers"]
    return (
        _is_api(scope["path"])
        and _value(sent, b"access-control-request-method") != b""
        and _value(sent, b"origin") != b""
    )


async def answer_preflight(cross_origin: CrossOrigin | None, scope: dict[str, Any], send: Any) -> None:
    """Answer for `CrossOrigin`, whose own headers the server adds; None: no origin is allowed."""
    sent = scope["headers"]
    origin, wanted = _value(sent, b"origin"), _value(sent, b"access-control-request-headers")
    if cross_origin is not None and cross_origin.allows(origin):
        headers = [(b"access-control-allow-methods", _METHODS), (b"access-control-max-age", _MAX_AGE)]
        if wanted:
            headers.append((b"access-control-allow-headers", wanted))
        status, body = 204, b""
    else:
        page = origin[:200].decode("latin-1")
        message = f"Pages of {page} may not call this gateway. Have cors.allowed_origins name that origin."
        refusal = ApiError(403, message, code="origin_not_allowed")
        status, body = refusal.status, refusal.body(style_of(scope["path"]))
        headers = [(b"content-type", JSON), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _is_api(path: str) -> bool:
    return path.startswith("/v1/") or path == "/generate"


def _value(sent: Headers, wanted: bytes) -> bytes:
    return next((value for name, value in sent if name == wanted), b"")
