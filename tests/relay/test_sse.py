"""Single cases of event streams that deserve a name."""

import pytest

from gateway.relay.sse import EventStream
from gateway.relay.usage import read_tokens

DELTA = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n'
DONE = b"data: [DONE]\n\n"


def filtered(*reads: bytes, withhold: bool = True) -> bytes:
    stream = EventStream(withhold_usage=withhold)
    return b"".join(map(stream.feed, reads)) + stream.finish()


WITHHELD = [
    USAGE,
    USAGE.replace(b"\n", b"\r\n"),
    USAGE.replace(b"\n", b"\r"),
    USAGE.replace(b"data: ", b"data:"),
    b": comment\nid: 1\n" + USAGE,
    b'data: {"choices": [ ],\ndata:  "usage" : {"total_tokens": 1}}\n\n',
    b'data: {"usage":{"x":[{"choices":[1]}]},"id":"a","choices":[]}\n\n',
]
KEPT = [
    DELTA,
    DONE,
    b'data: {"choices":[],"usage":null}\n\n',
    b'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}\n\n',
    b'data: {"usage":{"prompt_tokens":1}}\n\n',
    b'data: {"choices":null,"usage":{"prompt_tokens":1}}\n\n',
    b'data: {"choices":{},"usage":{}}\n\n',
    b'data: {"choices":[],"usage":{}\n\n',
    b'data: "{\\"choices\\":[],\\"usage\\":{}}"\n\n',
    b'data: {"choices":[{"delta":{"content":"\\"choices\\":[],\\"usage\\":{}"}}]}\n\n',
    b': {"choices":[],"usage":{}}\n\n',
    b'event: {"choices":[],"usage":{}}\n\n',
    b'data: \xff{"choices":[],"usage":{}}\n\n',
    b'data: {"choices":[],"usage":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001 + b"\n\n",
]


@pytest.mark.parametrize("event", WITHHELD)
def test_withheld(event: bytes) -> None:
    for reads in ((DELTA, event, DONE), (DELTA + event + DONE,), (DELTA + event[:9], event[9:] + DONE)):
        assert filtered(*reads) == DELTA + DONE
    assert filtered(DELTA, event, DONE, withhold=False) == DELTA + event + DONE


@pytest.mark.parametrize("event", KEPT, ids=lambda event: event[:40])
def test_kept(event: bytes) -> None:
    assert filtered(DELTA, event, USAGE, DONE) == DELTA + event + DONE
    assert filtered(DELTA + event + USAGE + DONE) == DELTA + event + DONE


@pytest.mark.parametrize("blank", [b"\n", b"\n\n\n", b"\r\n"])
def test_blank_lines_between_events_stay(blank: bytes) -> None:
    """They mean nothing, and are the engine's bytes."""
    busy = b'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}\n\n'
    assert filtered(busy + blank) == busy + blank
    assert filtered(busy + blank, blank + DONE) == busy + blank + blank + DONE
    assert filtered(DELTA + USAGE + blank) == DELTA + blank


def test_an_unfinished_event_waits_and_comes_at_the_end() -> None:
    stream = EventStream(withhold_usage=True)
    assert stream.feed(DELTA + b"data: {") == DELTA
    assert stream.feed(b'"a"') == b""
    assert stream.finish() == b'data: {"a"'
    assert stream.finish() == b""


def test_an_event_too_long_to_hold_is_passed_on() -> None:
    stream = EventStream(withhold_usage=True)
    start = b"data: " + b"x" * 65_000
    assert stream.feed(start) == b""
    assert not stream.torn
    assert stream.feed(b"y" * 1000) == start + b"y" * 1000
    assert stream.torn
    assert stream.feed(b"z" * 10) == b"z" * 10
    assert stream.feed(b"\n") == b"\n"
    assert stream.torn
    assert stream.feed(b"\n" + DELTA[:5]) == b"\n"
    assert not stream.torn
    assert stream.feed(DELTA[5:] + USAGE) == DELTA


@pytest.mark.parametrize("gap", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_the_end_of_a_long_event_cut_anywhere(gap: bytes) -> None:
    for at in range(len(gap) + 1):
        stream = EventStream(withhold_usage=True)
        out = stream.feed(b"data: " + b"x" * 70_000 + gap[:at])
        out += stream.feed(gap[at:] + USAGE + DONE) if gap[at:] else stream.feed(USAGE + DONE)
        assert out == b"data: " + b"x" * 70_000 + gap + DONE


def test_a_long_stream_is_not_kept() -> None:
    """What a stream holds does not grow with its length."""
    stream = EventStream(withhold_usage=True)
    for _ in range(10_000):
        assert stream.feed(DELTA) == DELTA
    assert len(stream.tail) <= 2 * len(DELTA)


@pytest.mark.parametrize(
    "reads",
    [
        (DELTA, USAGE + DONE),
        (DELTA, USAGE, DONE),
        (DELTA + USAGE, DONE),
        (DELTA + USAGE[:20], USAGE[20:] + DONE[:4], DONE[4:]),
        (DELTA + USAGE + DONE,),
    ],
)
@pytest.mark.parametrize("withhold", [True, False])
def test_the_counts_are_in_the_tail(reads: tuple[bytes, ...], withhold: bool) -> None:
    stream = EventStream(withhold_usage=withhold)
    for read in reads:
        stream.feed(read)
    assert read_tokens(stream.tail) == (7, 3)
