"""What runs before an engine is told to stop: waits until the gateways have looked away.

SGLang accepts requests until it ends, also while it drains: one that comes in the last moment is cut off. So the
container must not get its SIGTERM while a gateway still sends it new requests, which it does until it has heard that
the engine is leaving. How long that takes depends on the gateway; the engine's metrics say whether requests arrive.
"""

import re
import time
from collections.abc import Callable

import httpx

# Probes and scrapes go on until the end; these paths are work.
_WORK = re.compile(
    r'^sglang:http_requests_total\{[^}]*endpoint="(?:/v1/(?!loads|models)[^"]*|/generate)"[^}]*\} (\S+)$', re.MULTILINE
)
_POLL = 0.5


def wait_until_quiet(
    url: str,
    *,
    least: float,
    quiet: float,
    most: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Wait for `least` seconds, then until no request has arrived for `quiet` seconds, for `most` seconds at most.

    An engine whose metrics can't be read is waited for as long as `least` says. Returns the seconds waited.
    """
    started = clock()
    seen, since = _arrived(url), started
    while (waited := clock() - started) < most:
        if waited >= least and (seen is None or clock() - since >= quiet):
            break
        sleep(_POLL)
        now = _arrived(url)
        if now is not None and now != seen:
            seen, since = now, clock()
    return clock() - started


def _arrived(url: str) -> float | None:
    """Requests for work so far; None if the engine does not say."""
    try:
        answer = httpx.get(f"{url}/metrics", timeout=2.0, trust_env=False)
    except httpx.TransportError:
        return None
    if answer.status_code != httpx.codes.OK:
        return None
    return sum(float(it) for it in _WORK.findall(answer.text))
