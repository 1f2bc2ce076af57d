"""Event streams as engines may write them, and cuts of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

EOLS = (b"\n", b"\r\n", b"\r")


@dataclass(frozen=True)
class Event:
    """`usage`: it carries usage and nothing else, which is what may be withheld."""

    data: bytes
    usage: bool = False


@dataclass(frozen=True)
class Stream:
    """Events in a row; `rest` is the beginning of one that never ends."""

    events: Sequence[Event]
    rest: bytes = b""

    @property
    def sent(self) -> bytes:
        return b"".join(event.data for event in self.events) + self.rest

    @property
    def shown(self) -> bytes:
        """What is left without usage events."""
        return b"".join(event.data for event in self.events if not event.usage) + self.rest

    def ends(self, *, withheld: bool) -> set[int]:
        """Offsets in what is passed on at which no event is cut."""
        offsets, at = {0}, 0
        for event in self.events:
            at += 0 if withheld and event.usage else len(event.data)
            offsets.add(at)
        return offsets


texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12)
counts = st.fixed_dictionaries({"prompt_tokens": st.integers(0, 999), "completion_tokens": st.integers(0, 999)})
spaces = st.sampled_from(["", " "])


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, bool]:
    """The JSON of a data event, and whether it is a usage event."""
    usage, text = draw(counts), draw(texts)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    delta = {"choices": [{"index": 0, "delta": {"content": text}}]}
    value, withheld = draw(
        st.sampled_from(
            [
                ({**delta}, False),
                ({**delta, "usage": None}, False),
                ({**delta, "usage": usage}, False),
                ({"choices": [], "prompt_filter_results": [{"usage": text}]}, False),
                ({"choices": [], "usage": None}, False),
                ({"choices": [], "usage": usage}, True),
                ({"id": text, "usage": usage, "choices": []}, True),
                ({"choices": [], "usage": {**usage, "details": {"choices": [1]}}}, True),
                ({"type": "message_delta", "usage": usage}, False),
                ({"error": {"message": '"choices":[],"usage":{}' + text, "usage": {}}}, False),
                ("[DONE]", False),
                ([{"choices": [], "usage": usage}], False),
            ]
        )
    )
    return json.dumps(value, separators=separators, ensure_ascii=draw(st.booleans())), withheld


@st.composite
def events(draw: st.DrawFn, eols: Sequence[bytes] = EOLS) -> Event:
    """One event: comments, other fields, data over several lines, in one kind of line ends."""
    eol = draw(st.sampled_from(eols))
    lines: list[str] = []
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from([": ping", ":", "event: x", "id: 7", "retry: 10", "unknown"])))
    usage = False
    kind = draw(st.sampled_from(["json", "json", "json", "text", "long", "none"]))
    if kind == "json":
        body, usage = draw(bodies())
        parts = body.split(",", 1) if draw(st.booleans()) else [body]
        lines += ["data:" + draw(spaces) + part for part in (",\n".join(parts)).split("\n")]
        usage = usage and _is_json(",\n".join(parts))
    elif kind == "text":
        lines += ["data:" + draw(spaces) + draw(texts) for _ in range(draw(st.integers(1, 3)))]
    elif kind == "long":
        lines.append("data: " + "x" * draw(st.sampled_from([100, 70_000])))
    return Event(eol.join(line.encode() for line in [*(lines or [":"]), "", ""]), usage)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False  # cut within a string
    return True


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    rest = draw(st.sampled_from([b"", b"", b"data: {", b": pi", b"data: x\n", b"data: x\r\n", b"d"]))
    return Stream(draw(st.lists(events(), max_size=8)), rest)


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The data in pieces, none of them empty."""
    points = sorted(draw(st.sets(st.integers(1, len(data) - 1), max_size=12))) if len(data) > 1 else []
    return [data[start:end] for start, end in zip([0, *points], [*points, len(data)], strict=True) if start < end]
