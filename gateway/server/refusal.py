"""What a client is told that is turned away before it has made a request."""

from collections.abc import Iterable
from typing import NamedTuple

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.api.errors import error_body, style_of

Headers = Iterable[tuple[bytes, bytes]]


class Refusal(NamedTuple):
    """An error that ends the connection. The message says what to do."""

    status: int
    message: str
    code: str

    def response(self, path: str, headers: Headers) -> bytes:
        """The whole response. `path` is the request's as far as it is known, `headers` go out beside our own."""
        body = error_body(self.status, self.message, code=self.code, style=style_of(path))
        lines = [b"%b: %b\r\n" % header for header in headers]
        lines.append(b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body))
        return b"".join((STATUS_LINE[self.status], *lines, body))


INVALID = Refusal(400, "Invalid HTTP request received. Send HTTP/1.1.", "invalid_http")
NO_HOST = Refusal(400, "The request has no header Host, or more than one. Send one.", "invalid_http")
CONNECT = Refusal(405, "CONNECT is not served. Send requests for paths.", "method_not_allowed")
TOO_SLOW = Refusal(408, "The request's headers came too slowly. Send them without pauses.", "request_timeout")
CODED = Refusal(
    501, "The body has a transfer coding other than chunked. Send it as it is.", "transfer_coding_not_implemented"
)
VERSION = Refusal(
    505,
    "Only HTTP/1.1 and HTTP/1.0 are served here. Send HTTP/1.1, or have a proxy do so.",
    "http_version_not_supported",
)

# What llhttp says of versions that it does not know, and of the preface of HTTP/2, where others than it might go on.
_VERSIONS = ("Invalid HTTP version", "Pause on PRI/Upgrade")


def unparsable(error: httptools.HttpParserError) -> Refusal:
    """For what the parser refuses."""
    return VERSION if str(error) in _VERSIONS else INVALID


def too_large(most: int) -> Refusal:
    """For a head of more than `most` bytes."""
    return Refusal(431, f"The request's headers are larger than {most} bytes. Send less.", "headers_too_large")
