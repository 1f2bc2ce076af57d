"""Why an engine could not be asked, in words."""

import os

import httpx


def why(error: httpx.TransportError) -> str:
    """The system's reason, which httpx hides behind its own and behind one for each address of the host."""
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            # Those of name resolution are below 0, and not among the system's.
            return os.strerror(cause.errno).lower() if cause.errno > 0 else "the host does not resolve"
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__
    if isinstance(error, httpx.RemoteProtocolError):
        return "what answers does not speak HTTP, or hung up"
    return str(error) or type(error).__name__
