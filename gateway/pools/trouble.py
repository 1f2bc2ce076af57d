"""Why a replica is not ready, in words for the log and /status."""

import os
import socket
import ssl
from collections.abc import Iterator
from typing import NamedTuple

import httpx

_LONGEST = 200


class Trouble(NamedTuple):
    """`kind` is equal for causes that are the same to whoever has to mend them, whatever varies in `text`."""

    kind: str
    text: str


UNPROBED = Trouble("unprobed", "not probed yet")
PROBES = Trouble("probes", "probes fail")
REQUESTS = Trouble("requests", "requests on it failed in a row")


def unanswered(error: httpx.TimeoutException) -> Trouble:
    """No answer in time."""
    return Trouble(type(error).__name__, f"no answer to probes ({type(error).__name__})")


def unreachable(error: httpx.HTTPError) -> Trouble:
    """No connection, or one that broke or did not speak HTTP. httpx hides the system's reason behind its own."""
    for cause in _chain(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return Trouble(f"certificate {cause.verify_code}", f"certificate refused: {cause.verify_message}")
            case ssl.SSLError():
                reason = (cause.reason or str(cause)).replace("_", " ").lower()
                return Trouble(f"tls {reason}", f"no TLS connection: {reason}: is this an https port?")
            case socket.gaierror():
                return Trouble(f"resolve {cause.errno}", f"the host does not resolve: {cause.strerror}")
            case OSError(errno=int(number)):
                return Trouble(f"system {number}", os.strerror(number).lower())
    if isinstance(error, httpx.RemoteProtocolError):
        text = str(error)
        if text.startswith("Server disconnected"):
            return Trouble("disconnected", "the connection ended without an answer: is this an http port of an engine?")
        return Trouble("protocol", f"the answer is not HTTP: {text}"[:_LONGEST])
    return Trouble(type(error).__name__, (str(error) or type(error).__name__)[:_LONGEST])


def unwell(status: int, path: str, *, configured: bool, engine: str) -> Trouble | None:
    """What this answer to a probe says is wrong. Anything below 500 but 404 is an answer: some engines want a key."""
    if status == 404:
        if configured:
            advice = "set health.path to one that the engine has"
        elif engine == "openai":
            advice = "is this the base URL of an OpenAI API? set health.path"
        else:
            advice = "is this an engine of this kind? set health.path"
        return Trouble("404", f"404 from {path}: {advice}")
    return Trouble(str(status), f"{status} from {path}") if status >= 500 else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        # A host with several addresses fails once for each.
        seen = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else seen.__cause__ or seen.__context__
