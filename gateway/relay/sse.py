"""Server-sent events as bytes: whole events go on untouched, the usage event that we asked for is withheld.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import re
from typing import Any

import msgspec

# An event longer than this is passed on in pieces as it arrives; a usage event is never so long.
_HELD_BYTES = 64 * 1024

_BOUNDARIES = (b"\n\n", b"\r\n\r\n", b"\r\r")
_FIRST_BOUNDARY = re.compile(rb"\n\n|\r\n\r\n|\r\r")
_USAGE_KEY = b'"usage"'
_USAGE_OBJECT = re.compile(rb'"usage"\s*:\s*\{')


class _UsageEvent(msgspec.Struct):
    choices: list[msgspec.Raw]
    usage: dict[str, Any]


class EventStream:
    """Takes body bytes as they come and returns those to pass on.

    Invariant: what it has returned ends at the end of an event, unless an event outgrew `_HELD_BYTES`; so an error
    event can be appended when the engine breaks off. Nothing is changed, reordered or lost, the withheld event aside.
    """

    __slots__ = ("_before", "_held", "_recent", "_torn", "_withheld", "_withhold")

    def __init__(self, *, withhold_usage: bool) -> None:
        """`withhold_usage`: the client did not ask for the usage event, we did."""
        self._withhold = withhold_usage
        self._held = b""
        self._torn: bytes | None = None
        self._before = self._recent = self._withheld = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may go on now; the beginning of an event waits for its end."""
        if not self._held and self._torn is None and data.endswith(_BOUNDARIES):
            self._before, self._recent = self._recent, data
            if not self._withhold or _USAGE_KEY not in data:
                return data
            return self._without_usage(data)
        return self._feed_pieces(data)

    def passes(self, events: bytes) -> bool:
        """Whether whole events (in chunks or not) may go on as they are. Tell with `passed` if they do."""
        if self._held or self._torn is not None:
            return False
        key = events.find(_USAGE_KEY) if self._withhold else -1
        return key < 0 or not _USAGE_OBJECT.search(events, key)

    def passed(self, events: bytes) -> None:
        """These have gone on."""
        self._before, self._recent = self._recent, events

    def finish(self) -> bytes:
        """Return what is left at the end of the stream."""
        held, self._held = self._held, b""
        return held

    @property
    def tail(self) -> bytes:
        """Where the token counts stand: the withheld usage event, else the last events ([DONE] may come by itself)."""
        return self._withheld or self._before + self._recent

    @property
    def torn(self) -> bool:
        """Whether part of an unfinished event has gone out."""
        return self._torn is not None

    def _feed_pieces(self, data: bytes) -> bytes:
        out = b""
        if self._torn is not None:
            probe = self._torn + data
            found = _FIRST_BOUNDARY.search(probe)
            if found is None:
                self._torn = probe[-3:]
                return data
            cut = max(found.end() - len(self._torn), 0)
            out, data, self._torn = data[:cut], data[cut:], None
        joined = self._held + data
        cut = max(joined.rfind(mark) + len(mark) if mark in joined else 0 for mark in _BOUNDARIES)
        whole, self._held = joined[:cut], joined[cut:]
        if whole:
            self._before, self._recent = self._recent, whole
            if self._withhold and _USAGE_KEY in whole:
                whole = self._without_usage(whole)
        if len(self._held) > _HELD_BYTES:
            whole += self._held
            self._torn, self._held = self._held[-3:], b""
        return out + whole

    def _without_usage(self, events: bytes) -> bytes:
        if not _USAGE_OBJECT.search(events):
            return events  # SGLang sends "usage":null with every event
        kept, start = [], 0
        for boundary in _FIRST_BOUNDARY.finditer(events):
            event = events[start : boundary.end()]
            start = boundary.end()
            if _USAGE_KEY in event and _is_usage_event(event):
                self._withheld = event
            else:
                kept.append(event)
        kept.append(events[start:])  # blank lines after the last event
        return b"".join(kept)


def _is_usage_event(event: bytes) -> bool:
    """Whether an event carries usage and nothing else: no choices (OpenAI's `stream_options.include_usage`)."""
    lines = [line.removeprefix(b"data:") for line in event.splitlines() if line.startswith(b"data:")]
    try:
        return not msgspec.json.decode(b"\n".join(lines), type=_UsageEvent).choices
    except (msgspec.DecodeError, RecursionError):
        return False
