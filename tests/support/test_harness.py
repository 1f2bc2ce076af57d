"""The harness keeps its own promises: what later suites conclude rests on them."""

import asyncio

import httpx
import pytest

from tests.support.behaviours import End, answer, broken_stream, close_on_reuse, play, stream
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.raw import exchange, raw_client, request_bytes
from tests.support.site import chat
from tests.support.threads import EngineThread
from tests.support.wire import chat_events, cut, head, json_reply

BODY = b'{"model": "fake", "messages": [], "stream": true}'


async def test_a_killed_engine_refuses_and_comes_back_on_its_port() -> None:
    engine = FakeEngine(stream([*chat_events(["a"]), Gate()]))
    await engine.start()
    async with raw_client(engine.port) as client:
        await client.send(request_bytes(BODY))
        await client.read_until(b"data: ")
        await engine.kill()
        await client.wait_closed()
        with pytest.raises(ConnectionRefusedError):
            await exchange(engine.port, request_bytes(BODY))
        await engine.restart()
        engine.respond = answer()
        assert (await exchange(engine.port, request_bytes(BODY))).complete
    await engine.stop()
    assert engine.open_connections == 0


async def test_an_engine_notices_when_its_peer_leaves(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as [engine]:
        engine.respond = play(End.HANG)
        for leave in ("close", "reset"):
            engine.forget()
            async with raw_client(engine.port) as client:
                await client.send(request_bytes(BODY))
                request = await engine.next_request()
                getattr(client, leave)()
                await request.wait_gone()


async def test_answers_follow_the_script_then_the_rule(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as [engine]:
        engine.script.extend([play(json_reply(429, {})), broken_stream([b"data: 1\n\n"])])
        assert (await exchange(engine.port, request_bytes(BODY))).status == 429
        broken = await exchange(engine.port, request_bytes(BODY))
        assert (broken.complete, broken.body) == (False, b"data: 1\n\n")
        whole = await exchange(engine.port, request_bytes(BODY))
        assert whole.complete
        assert whole.body == b"".join(chat_events(("one ", "two ", "three")))


async def test_a_reused_connection_can_be_closed_on(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as [engine]:
        engine.respond = close_on_reuse(answer())
        async with raw_client(engine.port) as client:
            await client.send(request_bytes(BODY))
            assert (await client.response()).complete
            await client.send(request_bytes(BODY))
            assert (await client.response()).status == 0
        assert [request.turn for request in engine.requests] == [0, 1]


async def test_a_stalled_engine_says_nothing_until_it_goes_on(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as [engine]:
        engine.stalled = True
        async with httpx.AsyncClient(base_url=engine.url, trust_env=False) as client:
            waiting = asyncio.create_task(client.post("/v1/chat/completions", json=chat()))
            await engine.next_request()
            await asyncio.sleep(0.05)
            assert not waiting.done()
            engine.stalled = False
            assert (await waiting).json()["choices"][0]["message"]["content"] == "one two three"


async def test_the_client_tells_a_whole_answer_from_a_short_one(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as [engine]:
        for steps, complete in (
            ((head(200, [("content-length", "4")]), b"abc", End.CLOSE), False),
            ((head(200, [("content-length", "3")]), b"abc"), True),
            ((head(200), b"abc", End.CLOSE), True),
            ((End.RESET,), False),
        ):
            engine.script.append(play(*steps))
            assert (await exchange(engine.port, request_bytes(BODY))).complete is complete


def test_cutting_loses_nothing() -> None:
    assert cut(b"abcdef", [4, 0, 2, 2, 9]) == [b"ab", b"cd", b"ef"]
    assert cut(b"", [1]) == [b""]
