"""Errors as the endpoint's clients read them.

OpenAI's shape, {"error": {"message", "type", "param", "code"}}: https://platform.openai.com/docs/guides/error-codes
Anthropic's, {"type": "error", "error": {"type", "message"}}: https://docs.anthropic.com/en/api/errors
"""

import json
from typing import Literal

JSON = b"application/json"
ErrorStyle = Literal["openai", "anthropic"]

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    501: "invalid_request_error",
    505: "invalid_request_error",
}
# Where they differ. A server's errors are `api_error` there.
_ANTHROPIC_TYPES = {**_TYPES, 413: "request_too_large", 504: "timeout_error"}
_MESSAGES = "/v1/messages"


class ApiError(Exception):
    """A request that ends with an error of our own. The message says what to do about it."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        param: str | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        """`headers` go out beside content-type and content-length."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.headers = headers

    def body(self, style: ErrorStyle = "openai") -> bytes:
        """The JSON that the client gets."""
        return error_body(self.status, str(self), code=self.code, param=self.param, style=style)


def style_of(path: str) -> ErrorStyle:
    """Whose clients call this path."""
    return "anthropic" if path == _MESSAGES or path.startswith(f"{_MESSAGES}/") else "openai"


def error_body(
    status: int, message: str, *, code: str, param: str | None = None, style: ErrorStyle = "openai"
) -> bytes:
    """An error object as JSON. Anthropic's has no place for `code` and `param`."""
    if style == "anthropic":
        kind = _ANTHROPIC_TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}}).encode()


def unknown_model(name: str, known: list[str]) -> ApiError:
    """404 that lists what there is."""
    listing = ", ".join(known[:50]) + (", ..." if len(known) > 50 else "")
    return ApiError(
        404,
        f"The model {name[:200]!r} does not exist. Known models: {listing}.",
        code="model_not_found",
        param="model",
    )
