"""Bytes from an engine to a client: in order, none lost, none piling up, whoever is slower."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.sse import EventStream
from tests.relay.exchanges import Passing, turns
from tests.support.wire import LAST_CHUNK, chunk

PENDING = 256 * 1024


async def test_while_the_client_keeps_up_each_read_is_one_send() -> None:
    passing = Passing()
    passing.begin(chunk(b"one"))
    passing.deliver()
    await turns()
    for word in (b"two", b"three"):
        passing.wire.sends(chunk(word))
        assert passing.downstream.messages[-1]["body"] == word, "within the engine's read"
    passing.wire.sends(LAST_CHUNK)
    assert await passing.result()
    assert passing.downstream.body == b"onetwothree"
    assert passing.downstream.complete


async def test_a_client_that_stops_reading_stops_the_engine() -> None:
    passing = Passing()
    passing.begin(chunk(b"."))
    passing.deliver()
    await turns()
    passing.downstream.stall()
    for _ in range(1000):
        passing.wire.sends(chunk(b"x" * 1000))
        await asyncio.sleep(0)
    assert not passing.wire.reading
    assert passing.wire.held_back > 990_000, "all but what was read at first stays with the engine"
    passing.wire.sends(LAST_CHUNK)
    passing.downstream.read_on()
    assert await passing.result()
    assert passing.downstream.body == b"." + b"x" * 1_000_000


async def test_reads_that_come_after_the_pause_keep_their_place() -> None:
    passing = Passing()
    passing.begin(chunk(b"1"))
    passing.deliver()
    await turns()
    passing.downstream.stall()
    for number in range(2, 6):
        passing.wire.sent_before(chunk(b"%d" % number))
    await turns()
    passing.downstream.read_on()
    passing.wire.sent_before(chunk(b"6"))
    await turns()
    passing.wire.sends(LAST_CHUNK)
    assert await passing.result()
    assert passing.downstream.body == b"123456"


async def test_before_the_delivery_no_more_is_taken_than_can_be_kept() -> None:
    passing = Passing()
    passing.begin()
    for _ in range(100):
        passing.wire.sends(chunk(b"x" * 10_000))
    assert not passing.wire.reading
    assert 1_000_000 - passing.wire.held_back <= PENDING + 20_000
    passing.wire.sends(LAST_CHUNK)
    passing.deliver()
    assert await passing.result()
    assert passing.downstream.body == b"x" * 1_000_000
    assert passing.downstream.complete


steps = st.lists(
    st.sampled_from(["send", "send", "send late", "send big", "stall", "read on", "turn", "turn"]),
    min_size=1,
    max_size=60,
)


@given(steps, st.booleans(), st.booleans())
def test_any_interleaving(history: list[str], early: bool, breaks: bool) -> None:
    """The client gets what was sent; the engine is paused before much piles up; the lease ends with the engine."""

    async def main() -> None:
        passing = Passing()
        sent = b"first"
        passing.begin(chunk(sent))
        if early:
            passing.deliver()
        for number, step in enumerate(history):
            match step:
                case "send" | "send late" | "send big":
                    data = b"%d " % number * (50_000 if step == "send big" else 1)
                    sent += data
                    late = step == "send late" and not passing.wire.held_back
                    (passing.wire.sent_before if late else passing.wire.sends)(chunk(data))
                case "stall":
                    passing.downstream.stall()
                case "read on":
                    passing.downstream.read_on()
                case "turn":
                    await asyncio.sleep(0)
            taken = len(sent) - len(passing.downstream.body) - passing.wire.held_back
            assert taken <= 2 * (PENDING + 250_000)
            assert passing.load.inflight == 1
        if not early:
            passing.deliver()
        passing.downstream.read_on()
        await turns(30)
        if breaks:
            passing.wire.resets()
        else:
            passing.wire.sends(LAST_CHUNK)
        await turns(30)
        assert await passing.result() is not breaks
        assert passing.downstream.body == sent
        assert passing.downstream.complete is not breaks
        assert passing.load.inflight == 0

    asyncio.run(main())


async def test_the_lease_ends_with_the_engine_not_with_the_client() -> None:
    """The engine is free for others while a slow client reads on."""
    passing = Passing()
    passing.begin(chunk(b"one"))
    passing.deliver()
    await turns()
    passing.downstream.stall()
    passing.wire.sends(chunk(b"two"))
    await turns()
    assert not passing.wire.reading
    passing.wire.sends(LAST_CHUNK)
    assert passing.load.inflight == 1, "the end has not been read yet"
    passing.downstream.read_on()
    assert await passing.result()
    assert passing.load.inflight == 0


async def test_an_engine_that_breaks_off() -> None:
    """What it sent before is passed on; the response does not end."""
    passing = Passing()
    passing.begin(chunk(b"one"))
    passing.deliver()
    await turns()
    passing.downstream.stall()
    passing.wire.sends(chunk(b"two"))
    passing.wire.resets()
    await turns()
    assert passing.load.inflight == 0
    passing.downstream.read_on()
    assert not await passing.result()
    assert passing.downstream.body == b"onetwo"
    assert not passing.downstream.complete
    assert passing.exchange.error is not None


async def test_an_engine_that_breaks_off_before_the_body_keeps_its_lease() -> None:
    """The attempt may be repeated under it."""
    for begins in (False, True):
        passing = Passing()
        if begins:
            passing.begin()
        assert not passing.exchange.answering
        passing.wire.resets()
        assert passing.exchange.answering
        assert passing.load.inflight == 1


@pytest.mark.parametrize("stalled", [False, True])
async def test_a_client_that_leaves(stalled: bool) -> None:
    passing = Passing()
    passing.begin(chunk(b"one"))
    passing.deliver()
    await turns()
    if stalled:
        passing.downstream.stall()
        passing.wire.sends(chunk(b"two"))
    passing.downstream.leave()
    assert not await passing.result()
    assert passing.client.gone


async def test_a_client_that_leaves_with_the_last_byte() -> None:
    """Whatever is noticed first, the delivery ends."""
    passing = Passing()
    passing.begin(chunk(b"one"))
    passing.deliver()
    await turns()
    passing.wire.sends(LAST_CHUNK)
    passing.downstream.leave()
    await passing.result()
    assert passing.load.inflight == 0


@pytest.mark.parametrize("waits", [False, True])
async def test_a_send_that_fails(waits: bool) -> None:
    """It must not pass for sent."""
    passing = Passing()
    passing.begin(chunk(b"one"))
    passing.deliver()
    await turns()
    if waits:
        passing.downstream.stall()
        passing.wire.sends(chunk(b"two"))
    passing.downstream.failure = RuntimeError("no")
    passing.downstream.read_on()
    passing.wire.sends(LAST_CHUNK)
    with pytest.raises(RuntimeError):
        await passing.result()


async def test_events_wait_for_their_end_and_are_counted() -> None:
    passing = Passing()
    passing.begin(chunk(b"data: 1\n\ndata:"))
    passing.exchange.stream = EventStream(withhold_usage=True)
    passing.deliver()
    await turns()
    assert passing.downstream.body == b"data: 1\n\n"
    passing.wire.sends(chunk(b" 2\n\n"), chunk(b"rest"), LAST_CHUNK)
    assert await passing.result()
    assert passing.downstream.body == b"data: 1\n\ndata: 2\n\nrest"
    assert passing.exchange.events == 2


async def test_of_an_event_cut_off_nothing_is_passed_on() -> None:
    passing = Passing()
    passing.begin(chunk(b"data: 1\n\ndata: {"))
    passing.exchange.stream = EventStream(withhold_usage=True)
    passing.deliver()
    await turns()
    passing.wire.resets()
    assert not await passing.result()
    assert passing.downstream.body == b"data: 1\n\n"


async def test_the_tail_holds_the_last_two_reads() -> None:
    passing = Passing()
    passing.begin(chunk(b"a" * 9))
    passing.deliver()
    await turns()
    passing.wire.sends(chunk(b'"prompt_tok'), chunk(b'ens": 7}'), LAST_CHUNK)
    assert await passing.result()
    assert passing.exchange.tail == b'"prompt_tokens": 7}'
