"""What following EndpointSlices needs of an API server, and how it may fail."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from gateway.pools.discovery.slices import EndpointSlice, Metadata

_LONGEST_RETRY_AFTER = 120


class Trouble(StrEnum):
    """Kinds of failure: a closed set, used as a metric label."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    EXPIRED = "expired"
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    REFUSED = "refused"
    GARBLED = "garbled"
    CLOSED = "closed"
    NO_CREDENTIALS = "no_credentials"
    INTERNAL = "internal"


class ApiError(Exception):
    """A request to the API server failed; `retry_after` is what it asked for, in seconds."""

    def __init__(self, trouble: Trouble, message: str, retry_after: float = 0.0) -> None:
        """`message` is for the log."""
        super().__init__(message)
        self.trouble = trouble
        self.retry_after = retry_after


class Listing(NamedTuple):
    """All slices at one resource version."""

    version: str
    slices: tuple[EndpointSlice, ...]


class Put(NamedTuple):
    """A slice was added or has changed."""

    version: str
    piece: EndpointSlice


class Drop(NamedTuple):
    """A slice was deleted."""

    version: str
    name: str


class Bookmark(NamedTuple):
    """Nothing has changed up to this version."""

    version: str


Event = Put | Drop | Bookmark


class Api(Protocol):
    """One query of one API server. Methods block, and belong to one thread; `interrupt` may be called by any."""

    @property
    def query(self) -> str:
        """What is looked for, in words."""
        ...

    def list(self) -> Listing:
        """Every slice there is now.

        Raises:
            ApiError: it could not be had.
        """
        ...

    def watch(self, version: str, until: float) -> Iterator[Event]:
        """What changes after `version`, until the server ends it or the monotonic clock shows `until`.

        Raises:
            ApiError: it could not be had, or broke off.
        """
        ...

    def forget_credentials(self) -> None:
        """They were refused: read them anew before the next request."""
        ...

    def interrupt(self) -> None:
        """Make the call that blocks now fail; best effort."""
        ...


class _Page(msgspec.Struct, frozen=True):
    metadata: Metadata
    items: tuple[EndpointSlice, ...] | None = None


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Marked(msgspec.Struct, frozen=True):
    metadata: Metadata


class _Status(msgspec.Struct, frozen=True):
    code: int | None = None
    message: str | None = None


_page = msgspec.json.Decoder(_Page)
_line = msgspec.json.Decoder(_Line)
_slice = msgspec.json.Decoder(EndpointSlice)
_marked = msgspec.json.Decoder(_Marked)
_status = msgspec.json.Decoder(_Status)


def page_of(body: bytes) -> tuple[Listing, str | None]:
    """One page of a list, and the token of the next one.

    Raises:
        ApiError: it is no list of EndpointSlices.
    """
    try:
        page = _page.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(Trouble.GARBLED, f"the list of EndpointSlices can't be read: {error}") from None
    return Listing(page.metadata.resource_version, page.items or ()), page.metadata.continue_ or None


def event_of(line: bytes) -> Event:
    """One line of a watch.

    Raises:
        ApiError: it says that the watch has failed, or is no event.
    """
    try:
        whole = _line.decode(line)
        if whole.type == "ERROR":
            status = _status.decode(whole.object)
            raise failure(status.code or 500, status.message or "the watch failed")
        if whole.type == "BOOKMARK":
            return Bookmark(_marked.decode(whole.object).metadata.resource_version)
        if whole.type not in ("ADDED", "MODIFIED", "DELETED"):
            raise ApiError(Trouble.GARBLED, f"the watch sent an event of the unknown type {whole.type!r}")
        piece = _slice.decode(whole.object)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(Trouble.GARBLED, f"an event of the watch can't be read: {error}") from None
    if whole.type == "DELETED":
        return Drop(piece.metadata.resource_version, piece.metadata.name)
    return Put(piece.metadata.resource_version, piece)


def failure(status: int, message: str, retry_after: str | None = None) -> ApiError:
    """The error that an HTTP status, or that of an ERROR event, stands for."""
    seconds = min(int(retry_after), _LONGEST_RETRY_AFTER) if retry_after and retry_after.isdecimal() else 0
    named = {401: Trouble.UNAUTHORIZED, 403: Trouble.FORBIDDEN, 410: Trouble.EXPIRED, 429: Trouble.THROTTLED}
    trouble = named.get(status) or (Trouble.SERVER_ERROR if status >= 500 else Trouble.REFUSED)
    return ApiError(trouble, f"{status} {message}".strip(), seconds)


def message_of(body: bytes | str | None) -> str:
    """The message of a Status, or how else the body begins."""
    try:
        message = _status.decode(body or b"").message
    except (msgspec.DecodeError, UnicodeDecodeError):
        message = None
    text = body.decode(errors="replace") if isinstance(body, bytes) else body or ""
    return message or " ".join(text.split())[:200]
