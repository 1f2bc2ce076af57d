"""What the measurement needs of an event stream in OpenAI's format: which events carry content, usage or an error."""

from collections.abc import Iterator
from typing import Any

import msgspec

DONE = b"[DONE]"


class EventParser:
    """Splits a byte stream into the data of its events, wherever reads cut it. Comments and other fields are dropped.

    Of the standard (https://html.spec.whatwg.org/multipage/server-sent-events.html) lone carriage returns as line ends
    are left out: no engine sends them.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The events that are complete with these bytes."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))


class Delta(msgspec.Struct):
    """What a chat chunk adds. Reasoning is content too: the user waits for it."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[Any] | None = None


class Choice(msgspec.Struct):
    """A choice of a chat chunk (`delta`) or of a completion chunk (`text`)."""

    delta: Delta | None = None
    text: str | None = None

    @property
    def added(self) -> str:
        """The text it adds."""
        return self.text or (self.delta.content if self.delta else None) or ""

    @property
    def has_content(self) -> bool:
        """Whether it adds anything that a user would see or wait for."""
        if self.text:
            return True
        delta = self.delta
        return delta is not None and bool(
            delta.content or delta.reasoning_content or delta.reasoning or delta.tool_calls
        )


class Usage(msgspec.Struct):
    """The server's own count."""

    completion_tokens: int = 0
    prompt_tokens: int = 0


class Event(msgspec.Struct):
    """One event's data, as far as it is looked at."""

    choices: list[Choice] = msgspec.field(default_factory=list)
    usage: Usage | None = None
    error: Any = None


decode_event = msgspec.json.Decoder(Event).decode
