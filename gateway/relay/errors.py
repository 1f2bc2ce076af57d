"""What a client is told when an engine fails it."""

from gateway.api.errors import ApiError, ErrorStyle, error_body
from gateway.relay.engine import EngineError, EngineTimeoutError


def engine_failed(model: str, error: EngineError) -> ApiError:
    """The error for a request that no engine has answered."""
    if isinstance(error, EngineTimeoutError):
        return ApiError(
            504,
            f"The engine of {model!r} took the request and did not answer in time ({error}). Try again.",
            code="engine_timeout",
        )
    return ApiError(
        502,
        f"The engine of {model!r} failed before it answered ({error}). Try again.",
        code="engine_failed",
    )


def broken_event(model: str, error: EngineError, style: ErrorStyle) -> bytes:
    """The last event of a stream that broke off, in the form that the endpoint's clients raise as an error.

    OpenAI's clients raise for a `data` with an `error` key; Anthropic's for an event named `error`
    (https://docs.anthropic.com/en/docs/build-with-claude/streaming#error-events).
    """
    message = f"The engine of {model!r} broke the stream off ({error}). What came before is incomplete."
    name = b"event: error\n" if style == "anthropic" else b""
    return name + b"data: " + error_body(502, message, code="stream_broken", style=style) + b"\n\n"
