"""The small fields of a multipart form, found without a look at the files beside them.

A parser that steps through the bytes takes a minute for a hostile form of 64 MiB. Here the work in Python is bounded
by the number of parts and the size of their headers; all else is a search.
"""

import re
from collections.abc import Collection

from python_multipart.multipart import parse_options_header

_MAX_PARTS = 100
_MAX_HEADER_BYTES = 8 << 10
_MAX_HEADER_LINES = 32
_MAX_DISPOSITION_BYTES = 1 << 10
_MAX_HEADERS_BYTES = 64 << 10
_MAX_NEAR_BOUNDARIES = 1000
_MAX_BOUNDARY_BYTES = 200

_START = re.compile(rb"[\r\n]{0,16}--")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)", re.DOTALL)


class FormError(Exception):
    """A form that is not well-formed, or holds more than we look through; `code` is that of the error object."""

    def __init__(self, message: str, code: str = "invalid_multipart") -> None:
        """`message` says what to do."""
        super().__init__(message)
        self.code = code


def find_fields(content_type: bytes, body: bytes, wanted: Collection[bytes]) -> dict[bytes, list[slice]]:
    """Where in the body the values of the `wanted` fields are, each name's in order. Files are not fields.

    Raises:
        FormError: not a well-formed form, or one with too many parts or too long headers.
    """
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    if not boundary:
        raise FormError("The multipart content-type needs a boundary.")
    if len(boundary) > _MAX_BOUNDARY_BYTES:
        raise FormError(f"The multipart boundary is too long: use at most {_MAX_BOUNDARY_BYTES} bytes.")
    return _Form(body, boundary).fields(wanted)


class _Form:
    """A position in a form, and what of the budget is used up."""

    def __init__(self, body: bytes, boundary: bytes) -> None:
        self._body = body
        self._boundary = boundary
        self._delimiter = re.compile(re.escape(b"\r\n--" + boundary))
        self._near = 0
        self._header_bytes = 0

    def fields(self, wanted: Collection[bytes]) -> dict[bytes, list[slice]]:
        body, fields = self._body, dict[bytes, list[slice]]()
        start = _START.match(body)
        if not start or not body.startswith(self._boundary, start.end()):
            raise FormError("The body is not well-formed multipart: it must begin with the boundary.")
        end, parts = start.end() + len(self._boundary), 0
        while not body.startswith(b"--", end):
            if not body.startswith(b"\r\n", end):
                raise FormError("The body is not well-formed multipart: a line end must follow a boundary.")
            parts += 1
            if parts > _MAX_PARTS:
                raise FormError(f"The form has too many parts: send at most {_MAX_PARTS}.", "too_many_parts")
            name, data = self._headers(end + 2)
            until, end = self._next(data)
            if name in wanted:
                fields.setdefault(name, []).append(slice(data, until))
        return fields

    def _next(self, position: int) -> tuple[int, int]:
        """Where the next delimiter begins and ends."""
        for found in self._delimiter.finditer(self._body, position):
            if self._body.startswith((b"\r\n", b"--"), found.end()):
                return found.span()
            # Not allowed in a form, but harmless where a file happens to have it.
            self._near += 1
            if self._near > _MAX_NEAR_BOUNDARIES:
                raise FormError("The form's data holds its boundary time and again: choose another boundary.")
        raise FormError("The body is not well-formed multipart: the closing boundary is missing.")

    def _headers(self, position: int) -> tuple[bytes, int]:
        """The name of the field (empty: a file, or none) that begins at `position`, and where its data begins."""
        body = self._body
        if body.startswith(b"\r\n", position):
            return b"", position + 2
        end = body.find(b"\r\n\r\n", position, position + _MAX_HEADER_BYTES)
        self._header_bytes += end - position
        if end < 0 or self._header_bytes > _MAX_HEADERS_BYTES:
            raise FormError("The headers of a part are too long, or don't end with an empty line.")
        lines = body[position:end].split(b"\r\n", _MAX_HEADER_LINES)
        if len(lines) > _MAX_HEADER_LINES:
            raise FormError(f"A part has too many headers: send at most {_MAX_HEADER_LINES}.")
        name = b""
        for line in lines:
            header = _HEADER.fullmatch(line)
            if not header:
                raise FormError("The body is not well-formed multipart: a part's header is not 'name: value'.")
            if header[1].lower() == b"content-disposition":
                name = _field_name(header[2])
        return name, end + 4


def _field_name(disposition: bytes) -> bytes:
    if len(disposition) > _MAX_DISPOSITION_BYTES:
        raise FormError("The content-disposition of a part is too long: use a shorter file name.")
    options = parse_options_header(disposition)[1]
    return b"" if b"filename" in options else options.get(b"name", b"")
