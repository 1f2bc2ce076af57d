"""Chunks that pass from the engine to the client as they are: when they may, and that no byte of the body changes."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.chunks import whole_events
from gateway.relay.sse import EventStream
from tests.relay.exchanges import Passing, turns
from tests.relay.streams import Stream, cuts, streams
from tests.relay.wiretap import Wire
from tests.support.wire import CHUNKED, LAST_CHUNK, chunk, head

EVENT, USAGE = b'data: {"a": 1}\n\n', b'data: {"choices": [], "usage": {"completion_tokens": 7}}\n\n'


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (chunk(EVENT), True),
        (chunk(EVENT) * 3, True),
        (chunk(EVENT * 2), True),
        (chunk(b"data: x\r\n\r\n"), True),
        (chunk(b"data: x\r\r"), False),
        (b"00F\r\ndata: 3456789\n\n\r\n", True),
        (b"", False),
        (chunk(EVENT)[:-1], False),
        (chunk(EVENT) + b"1", False),
        (chunk(EVENT) + LAST_CHUNK, False),
        (LAST_CHUNK, False),
        (chunk(EVENT[:-1]), False),
        (chunk(EVENT[:-1]) + chunk(b"\n"), False),
        (b"10;x=y\r\n" + EVENT + b"\r\n", False),
        (b"0x10\r\n" + EVENT + b"\r\n", False),
        (b"+10\r\n" + EVENT + b"\r\n", False),
        (b"1_0\r\n" + EVENT + b"\r\n", False),
        (b" 10\r\n" + EVENT + b"\r\n", False),
        (b"10\n" + EVENT + b"\r\n", False),
        (b"11\r\n" + EVENT + b"\r\n", False),
        (b"f\r\n" + EVENT + b"\r\n", False),
        (b"00000010\r\n" + EVENT + b"\r\n", False),
        (b"\r\n\n\n\r\n", False),
    ],
)
def test_whole_events(data: bytes, whole: bool) -> None:
    assert whole_events(data) is whole


@st.composite
def chunked(draw: st.DrawFn) -> tuple[Stream, list[bytes]]:
    """A stream of events, and the reads in which its chunks arrive: often whole ones, at times cut anywhere."""
    stream = draw(streams())
    if draw(st.booleans()):
        parts = [event.data for event in stream.events] + ([stream.rest] if stream.rest else [])
    else:
        parts = draw(cuts(stream.sent)) if stream.sent else []
    chunks = [chunk(part) for part in parts]
    if draw(st.booleans()):
        return stream, [*chunks, LAST_CHUNK]
    sent = b"".join(chunks) + LAST_CHUNK
    return stream, draw(cuts(sent))


@given(chunked())
def test_a_sink_that_takes_chunks_gets_the_same_body(made: tuple[Stream, list[bytes]]) -> None:
    stream, reads = made
    wire = Wire()
    taken = wire.request(takes_chunks=True)
    wire.sends(head(200, CHUNKED), *reads)
    assert (taken.body, taken.ended, taken.error) == (stream.sent, True, None)
    assert wire.owner.finished_as == [True]


@given(chunked(), st.booleans(), st.sets(st.integers(0, 12)))
def test_the_client_gets_the_same_body(made: tuple[Stream, list[bytes]], withhold: bool, stalls: set[int]) -> None:
    stream, reads = made

    async def play() -> None:
        passing = Passing()
        passing.exchange.stream = EventStream(withhold_usage=withhold)
        passing.begin()
        passing.deliver()
        await turns()
        for number, read in enumerate(reads):
            if number in stalls:
                passing.downstream.stall()
            passing.wire.sends(read)
            await turns(1)
            if number in stalls:
                passing.downstream.read_on()
                await turns(2)
        assert await passing.result()
        assert passing.downstream.body == (stream.shown if withhold else stream.sent)

    asyncio.run(play())


async def test_what_passes_by_is_counted_and_remembered() -> None:
    passing = Passing()
    passing.exchange.stream = EventStream(withhold_usage=False)
    passing.begin(chunk(EVENT))
    passing.deliver()
    await turns()
    passing.wire.sends(chunk(EVENT) * 2, chunk(USAGE), LAST_CHUNK)
    assert await passing.result()
    assert passing.downstream.passed_by == 2
    assert passing.exchange.events == 4
    assert USAGE in passing.exchange.tail


async def test_a_withheld_event_does_not_pass_by() -> None:
    passing = Passing()
    passing.exchange.stream = EventStream(withhold_usage=True)
    passing.begin(chunk(EVENT))
    passing.deliver()
    await turns()
    passing.wire.sends(chunk(b'data: {"usage":null}\n\n'), chunk(EVENT) + chunk(USAGE) + chunk(EVENT), LAST_CHUNK)
    assert await passing.result()
    assert passing.downstream.passed_by == 1
    assert passing.downstream.body == EVENT + b'data: {"usage":null}\n\n' + EVENT * 2
    assert passing.exchange.tail == USAGE
