"""Any stream, cut anywhere: what goes out is what came in, the usage event aside, and no event is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay import sse
from gateway.relay.sse import EventStream
from gateway.relay.usage import read_tokens
from tests.relay.streams import Event, Stream, cuts, events, streams


@given(streams(), st.booleans(), st.data())
def test_nothing_is_lost_or_cut(stream: Stream, withhold: bool, data: st.DataObject) -> None:
    filtering = EventStream(withhold_usage=withhold)
    out, ends = b"", stream.ends(withheld=withhold)
    for piece in data.draw(cuts(stream.sent)):
        out += filtering.feed(piece)
        assert filtering.torn or len(out) in ends
    assert out + filtering.finish() == (stream.shown if withhold else stream.sent)


@given(streams(), st.data())
def test_one_read_or_many_come_to_the_same(stream: Stream, data: st.DataObject) -> None:
    whole, cut = EventStream(withhold_usage=True), EventStream(withhold_usage=True)
    at_once = (whole.feed(stream.sent) if stream.sent else b"") + whole.finish()
    in_pieces = b"".join(cut.feed(piece) for piece in data.draw(cuts(stream.sent))) + cut.finish()
    assert at_once == in_pieces


@given(streams(), st.data())
def test_events_do_not_wait_for_the_next(stream: Stream, data: st.DataObject) -> None:
    """As soon as an event is whole, it goes out."""
    filtering = EventStream(withhold_usage=False)
    out, sent, ends = b"", b"", stream.ends(withheld=False)
    for piece in data.draw(cuts(stream.sent)):
        out += filtering.feed(piece)
        sent += piece
        assert len(out) >= max(end for end in ends if end <= len(sent))


@given(st.lists(events(), max_size=6), st.integers(1, 60), st.data())
def test_events_that_outgrow_what_is_held(made: list[Event], most: int, data: st.DataObject) -> None:
    """With hardly any room every event is passed on in pieces, and still nothing is lost."""
    stream = Stream(made)
    filtering = EventStream(withhold_usage=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "_HELD_BYTES", most)
        out, ends = b"", stream.ends(withheld=False)
        for piece in data.draw(cuts(stream.sent)):
            out += filtering.feed(piece)
            assert filtering.torn or len(out) in ends
    assert out + filtering.finish() == stream.sent
    assert not filtering.torn


@given(st.integers(0, 10**8 - 1), st.integers(0, 10**8 - 1), st.data())
def test_the_counts_of_a_withheld_event_are_known(prompt: int, completion: int, data: st.DataObject) -> None:
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}\n\n' % (prompt, completion)
    sent = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n' + usage + b"data: [DONE]\n\n: bye\n\n"
    filtering = EventStream(withhold_usage=True)
    out = b"".join(filtering.feed(piece) for piece in data.draw(cuts(sent)))
    assert usage not in out
    assert read_tokens(filtering.tail) == (prompt, completion)
