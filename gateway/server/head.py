"""A request's head, taken apart and put together again."""

from collections.abc import Iterable

import httptools

_UPGRADE_HEADERS = frozenset((b"upgrade", b"http2-settings"))


def split_target(target: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request's target, as they were sent.

    Raises:
        HttpParserInvalidURLError: it is none.
    """
    if target[:1] == b"/" and target[:2] != b"//" and b"#" not in target:
        path, _, query = target.partition(b"?")
        return path, query
    parsed = httptools.parse_url(target)
    # In absolute form the path may be left out (RFC 9112, section 3.2.2).
    return parsed.path or b"/", parsed.query or b""


def without_upgrade(method: bytes, target: bytes, version: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The head of this request as it would be if it offered no other protocol."""
    lines = [b"%b %b HTTP/%b\r\n" % (method, target, version.encode())]
    for name, value in headers:
        if name == b"connection":
            kept = [token.strip() for token in value.split(b",") if token.strip().lower() not in _UPGRADE_HEADERS]
            value = b", ".join(kept)
        if name not in _UPGRADE_HEADERS and (name != b"connection" or value):
            lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join((*lines, b"\r\n"))
