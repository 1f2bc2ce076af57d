"""The measurement by itself, without sockets: wherever reads cut the bytes, the same comes out."""

import pytest

from loadtest.client import Ask, Exchange, Outcome, Sample
from loadtest.client.events import EventParser
from tests.support.wire import CHUNKED, DONE, LAST_CHUNK, SSE_HEADERS, chat_delta, chunk, comment, event, head

USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
EVENTS = [
    event(chat_delta(None)),
    comment(),
    event(chat_delta("Grüße ")),
    event({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}),
    event({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}}]}),
    event({"choices": [{"index": 0, "text": "done"}]}, eol=b"\r\n"),
    event({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}], "usage": None}),
    event({"choices": [], "usage": USAGE}),
    DONE,
]
RESPONSE = head(200, (*SSE_HEADERS, *CHUNKED)) + b"".join(chunk(one) for one in EVENTS) + LAST_CHUNK


def fed(pieces: list[bytes], ask: Ask | None = None) -> tuple[Exchange, Sample]:
    """An exchange whose reads came one second apart, the first at 10."""
    exchange = Exchange(ask or Ask({}, keep_text=True), 8.0)
    exchange.sent(9.0)
    for number, piece in enumerate(pieces):
        exchange.feed(piece, 10.0 + number)
    return exchange, exchange.sample()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_however_it_is_cut(size: int) -> None:
    exchange, sample = fed([RESPONSE[at : at + size] for at in range(0, len(RESPONSE), size)])
    assert exchange.done
    assert exchange.reusable
    assert (sample.outcome, sample.events, sample.tokens, sample.prompt_tokens) == (Outcome.OK, 4, 5, 11)
    assert sample.text == "Grüße done"
    assert len(sample.gaps) == 3


def test_times_are_those_of_the_reads() -> None:
    first, rest = RESPONSE.index("Grüße".encode()) + 20, RESPONSE.index(b"done")
    _, sample = fed([RESPONSE[:first], RESPONSE[first:rest], RESPONSE[rest:]])
    assert (sample.scheduled, sample.sent, sample.first, sample.last, sample.end) == (8.0, 9.0, 11.0, 12.0, 12.0)
    assert sample.ttft == 3.0
    assert sample.duration == 4.0
    assert sample.speed == 1.25
    assert sample.tpot == 0.25
    assert sample.gaps == (0.0, 0.0, 1.0)


def test_the_engine_may_close_after_its_answer() -> None:
    closing = RESPONSE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)
    exchange, sample = fed([closing])
    exchange.eof(20.0)
    assert (exchange.reusable, sample.outcome) == (False, Outcome.OK)
    assert exchange.sample() == sample


def test_events_after_a_cancellation_are_not_looked_at() -> None:
    exchange, sample = fed([RESPONSE], Ask({}, cancel_after=1))
    assert (sample.outcome, sample.events, exchange.reusable) == (Outcome.CANCELLED, 1, False)


def test_fields_of_events() -> None:
    parser = EventParser()
    text = b": ping\r\nid: 1\r\ndata: a\r\ndata:b\r\n\r\nevent: x\n\ndata:  c\n\ndata: d"
    assert list(parser.feed(text)) == [b"a\nb", b" c"]
    assert list(parser.feed(b"\n\n")) == [b"d"]
