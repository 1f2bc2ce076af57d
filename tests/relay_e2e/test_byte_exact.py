"""A stream arrives byte for byte, whatever it holds and however it was cut; only our usage chunk is withheld."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.behaviours import Framing, Step, play, stream
from tests.support.exchange import Gate
from tests.support.raw import exchange, raw_client, request_bytes
from tests.support.site import Site, chat, site
from tests.support.threads import EngineThread
from tests.support.wire import CHUNKED, LAST_CHUNK, chat_delta, chunk, comment, cut, event, head, usage, usage_chunk

TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40)
EOL = st.sampled_from([b"\n", b"\r\n"])


def lines(text: str) -> str:
    """As the value of one SSE field: without line ends."""
    return text.replace("\r", "").replace("\n", "")


@st.composite
def events(draw: st.DrawFn) -> bytes:
    """One event as some engine might write it."""
    eol = draw(EOL)
    end = eol * 2
    kind = draw(st.integers(0, 8))
    text = lines(draw(TEXT))
    match kind:
        case 0:
            return comment(text, eol)
        case 1:
            return b"event: ping" + eol + b"data: " + text.encode() + end
        case 2:
            return b"data:" + text.encode() + end  # no space
        case 3:
            return b"id: 7" + eol + b"retry: 10" + eol + b"data: a" + eol + b"data: " + text.encode() + end
        case 4:
            return event({**chat_delta(text), "usage": usage()}, eol)  # continuous usage: stays
        case 5:
            return event({**chat_delta(text), "usage": None}, eol)
        case 6:
            return event({"error": {"message": text, "usage": {}}}, eol)
        case 7:
            return event(chat_delta('"choices": [], "usage": {"prompt_tokens": 1}' + text), eol)
        case _:
            return event(chat_delta(draw(TEXT)), eol)


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread) -> Iterator[Site]:
    with site(engine_thread, speculative=1, baseline=0) as running:
        yield running


async def relayed(here: Site, writes: Sequence[bytes], framing: Framing, gap: float, asked: bool) -> bytes:
    engine = here.speculative[0]
    engine.forget()
    engine.respond = stream(writes, gap=gap, framing=framing)
    options: dict[str, Any] = {"stream_options": {"include_usage": True}} if asked else {}
    body = chat(stream=True, **options)
    response = await exchange(here.gateway.port, request_bytes(json.dumps(body).encode()))
    assert (response.status, response.complete) == (200, True)
    assert engine.requests[0].json()["stream_options"]["include_usage"] is True
    return response.body


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(events(), min_size=1, max_size=12),
    usage_eol=EOL,
    done=st.booleans(),
    tail=st.sampled_from([b"", b"data: no blank line after this", b": half a comment\n"]),
    framing=st.sampled_from(["chunked", "chunked", "length", "close"]),
    gap=st.sampled_from([0.0, 0.0, 0.001]),
    asked=st.booleans(),
    data=st.data(),
)
def test_what_the_engine_sent_arrives(
    here: Site,
    parts: list[bytes],
    usage_eol: bytes,
    done: bool,
    tail: bytes,
    framing: Framing,
    gap: float,
    asked: bool,
    data: st.DataObject,
) -> None:
    withheld = event(usage_chunk(), usage_eol)
    ending = (b"data: [DONE]" + usage_eol * 2 if done else b"") + tail
    sent = b"".join(parts) + withheld + ending
    points = data.draw(st.lists(st.integers(1, len(sent)), max_size=12 if gap else 60))
    expected = sent if asked else b"".join(parts) + ending
    assert asyncio.run(relayed(here, cut(sent, points), framing, gap, asked)) == expected


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sent=st.binary(min_size=1, max_size=5000), points=st.lists(st.integers(1, 5000), max_size=20), chunked=st.booleans()
)
def test_an_unstreamed_body_arrives(here: Site, sent: bytes, points: list[int], chunked: bool) -> None:
    framing = CHUNKED if chunked else [("content-length", str(len(sent)))]
    pieces: list[Step] = [chunk(piece) if chunked else piece for piece in cut(sent, points)]
    here.speculative[0].forget()
    here.speculative[0].respond = play(
        head(200, [("content-type", "audio/wav"), *framing]), *pieces, *([LAST_CHUNK] if chunked else [])
    )
    response = asyncio.run(exchange(here.gateway.port, request_bytes(b'{"model": "fake"}', path="/v1/audio/speech")))
    assert (response.status, response.complete, response.body) == (200, True, sent)
    assert response.header("content-type") == "audio/wav"


async def test_every_single_cut_of_a_stream(here: Site) -> None:
    kept = b'data: {"choices": [{"delta": {"content": "\xc3\xa9"}}]}\r\n\r\n: ping\n\n'
    tail = b"data: [DONE]\r\n\r\n"
    sent = kept + b'data: {"choices": [], "usage": {"completion_tokens": 1}}\r\n\r\n' + tail
    for point in range(1, len(sent)):
        assert await relayed(here, cut(sent, [point]), "chunked", 0.001, asked=False) == kept + tail, point


async def test_a_long_event_arrives(here: Site) -> None:
    long = event(chat_delta("x" * 300_000))
    sent = long + event(usage_chunk()) + event(chat_delta("after"))
    pieces = cut(sent, range(0, len(sent), 10_000))
    assert await relayed(here, pieces, "chunked", 0.0005, asked=False) == long + event(chat_delta("after"))


async def test_events_are_not_held_back(here: Site) -> None:
    """Each event is at the client before the engine sends the next."""
    gates = [Gate() for _ in range(4)]
    parts = [event(chat_delta(f"word{index}")) for index in range(4)]
    writes = [item for pair in zip(parts, gates, strict=True) for item in pair]
    here.speculative[0].forget()
    here.speculative[0].respond = stream(writes)
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
        for index, gate in enumerate(gates):
            await client.read_until(f"word{index}".encode(), 1.0)
            gate.open()
        assert (await client.response()).complete
    await here.gateway.assert_idle()
