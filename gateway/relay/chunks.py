"""Chunked transfer coding (RFC 9112, section 7.1) as bytes, for what needs no decoding."""

import re

# No extensions: who sends them is parsed. Seven digits are 256 MiB, more than one read holds.
_SIZE = re.compile(rb"([0-9a-fA-F]{1,7})\r\n")
_EVENT_END, _EVENT_END_CRLF = b"\n\n\r\n", b"\r\n\r\n\r\n"


def whole_events(data: bytes) -> bool:
    """Whether `data`, which begins with a chunk, is whole chunks, each of which ends with an event.

    The last chunk, of no bytes, is none of those; nor is an event whose lines end with a bare CR.
    """
    at, size = 0, len(data)
    while at < size:
        head = _SIZE.match(data, at)
        if head is None:
            return False
        at = head.end() + int(head[1], 16) + 2
        if not data.startswith(_EVENT_END, at - 4) and not data.startswith(_EVENT_END_CRLF, at - 6):
            return False
    return size > 0
