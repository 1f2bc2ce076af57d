"""Headers on their way through: what is kept, dropped and added."""

import random
import re
from collections.abc import Iterable

Headers = Iterable[tuple[bytes, bytes]]

# RFC 9110, section 7.6.1, and the older names still seen.
_HOP_BY_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
# Set anew, or the client's secret. Engines are asked for plain bytes: compressed events can't be told apart.
_NOT_UPSTREAM = _HOP_BY_HOP | {
    b"accept-encoding",
    b"api-key",
    b"authorization",
    b"content-length",
    b"cookie",
    b"expect",
    b"host",
    b"traceparent",
    b"x-api-key",
    b"x-request-id",
}
# Ours, or the server's.
_NOT_DOWNSTREAM = _HOP_BY_HOP | {b"date", b"set-cookie", b"x-request-id"}
# For the gateway alone to say: what it did with a request, and which web pages may read the answer.
_OURS = (b"x-spillway-", b"access-control-")

_NOT_DOWNSTREAM_UNFRAMED = _NOT_DOWNSTREAM | {b"content-length"}
_NONE: frozenset[bytes] = frozenset()

# https://www.w3.org/TR/trace-context/#traceparent-header: later versions than 00 may have more fields.
_TRACE = rb"-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
_TRACEPARENT = re.compile(rb"(?:00%b|(?!00|ff)[0-9a-f]{2}%b(?:-.*)?)\Z" % (_TRACE, _TRACE))
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}\Z")


def request_id(sent: bytes | None) -> bytes:
    """The client's id if it is one to keep (printable, at most 128 bytes), else a new one."""
    if sent and _REQUEST_ID.match(sent):
        return sent
    return b"req-%032x" % random.getrandbits(128)


def traceparent(sent: bytes | None) -> bytes:
    """The client's trace context (W3C), or a new one: sampled, as engines sample what starts with them."""
    if sent and _TRACEPARENT.match(sent):
        return sent
    return b"00-%032x-%016x-01" % (random.getrandbits(128) or 1, random.getrandbits(64) or 1)


def upstream_head(
    request_line: bytes,
    headers: Headers,
    *,
    host: bytes,
    length: int | None,
    request: bytes,
    trace: bytes,
    key: str | None,
) -> bytes:
    """The request's head as the engine gets it. `host` is a whole header line; `length` None: there is no body."""
    lines = [request_line, host]
    nominated = _nominated(headers)
    dropped = _NOT_UPSTREAM | nominated if nominated else _NOT_UPSTREAM
    for name, value in headers:
        if name not in dropped and name[:11] != b"x-spillway-":
            lines += (name, b": ", value, b"\r\n")
    lines += (b"x-request-id: ", request, b"\r\ntraceparent: ", trace, b"\r\n")
    if length is not None:
        lines.append(b"content-length: %d\r\n" % length)
    if key is not None:
        lines += (b"authorization: Bearer ", key.encode(), b"\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)


def downstream_headers(headers: list[tuple[bytes, bytes]], *, keep_length: bool) -> list[tuple[bytes, bytes]]:
    """The engine's headers as the client gets them. Without `keep_length` the server frames the body anew."""
    dropped = _NOT_DOWNSTREAM if keep_length else _NOT_DOWNSTREAM_UNFRAMED
    nominated = _nominated(headers)
    if nominated:
        dropped = dropped | nominated
    return [header for header in headers if header[0] not in dropped and not header[0].startswith(_OURS)]


def _nominated(headers: Headers) -> frozenset[bytes]:
    """The headers that Connection names as hop-by-hop."""
    nominated = _NONE
    for name, value in headers:
        if name == b"connection" and value.lower() not in (b"keep-alive", b"close"):
            nominated |= {token.strip().lower() for token in value.split(b",")}
    return nominated
