"""Each way in which a request can end is told from the others, by both drivers."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from loadtest.client import Ask, Outcome, Sample
from tests.loadtest.drivers import DRIVERS, ask
from tests.support.behaviours import Behaviour, End, Framing, answer, broken_stream, fail, play, stream
from tests.support.engine import FakeEngine
from tests.support.threads import EngineThread
from tests.support.wire import DONE, SSE_HEADERS, chat_delta, chat_events, event, head, json_reply

WORDS = chat_events(("one ", "two ", "three"), usage_tail=True)
ERROR = event({"error": {"message": "the replica is gone", "type": "upstream_error", "param": None, "code": None}})


@pytest.fixture(scope="module")
def engine(engine_thread: EngineThread) -> Iterator[FakeEngine]:
    with engine_thread.engines() as [one]:
        yield one


async def one(driver: str, engine: FakeEngine, behaviour: Behaviour, request: Ask, seconds: float = 10.0) -> Sample:
    engine.forget()
    engine.respond = behaviour
    [sample] = await DRIVERS[driver](engine.url, [request], seconds)
    return sample


FAILURES: dict[str, tuple[Behaviour, Outcome, str]] = {
    "429": (fail(429, "queue full"), Outcome.REJECTED, "queue full"),
    "500": (fail(500), Outcome.STATUS, "500"),
    "404 that closes": (play(json_reply(404, {"error": {}}), End.CLOSE), Outcome.STATUS, "404"),
    "error event": (stream([*WORDS[:2], ERROR]), Outcome.ERROR_EVENT, "the replica is gone"),
    "closed in mid-stream": (broken_stream(WORDS[:3]), Outcome.BROKEN, "after 2 events"),
    "reset in mid-stream": (broken_stream(WORDS[:3], End.RESET, gap=0.05), Outcome.BROKEN, "after 2 events"),
    "closed before the head": (play(End.CLOSE), Outcome.BROKEN, "before the head"),
    "reset before the head": (play(End.RESET), Outcome.BROKEN, "before the head"),
    "no [DONE]": (stream(WORDS[:-1]), Outcome.BROKEN, "without [DONE]"),
    "no [DONE], to the end of the connection": (stream(WORDS[:-1], framing="close"), Outcome.BROKEN, "without [DONE]"),
    "not HTTP": (play(b"SSH-2.0-OpenSSH_9.2\r\n", End.CLOSE), Outcome.BROKEN, "not HTTP"),
    "no stream": (play(json_reply(200, {"choices": []})), Outcome.BROKEN, "no event stream"),
    "no JSON in an event": (stream([WORDS[0], b"data: oops\n\n", DONE]), Outcome.BROKEN, "no JSON"),
    "no token": (stream([event(chat_delta(None)), DONE]), Outcome.EMPTY, "no event had content"),
}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", FAILURES)
async def test_failures(engine: FakeEngine, driver: str, name: str) -> None:
    behaviour, outcome, detail = FAILURES[name]
    sample = await one(driver, engine, behaviour, ask())
    assert (sample.outcome, sample.failed) == (outcome, True)
    assert detail in sample.detail


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_success_in_each_framing(engine: FakeEngine, driver: str, framing: Framing) -> None:
    headers = (("x-spillway-pool", "baseline"), ("x-spillway-replica", "r"), ("x-spillway-reason", "overflow"))
    behaviour = stream(WORDS, framing=framing, headers=headers)
    sample = await one(driver, engine, behaviour, ask())
    assert (sample.outcome, sample.detail, sample.events, sample.counted) == (Outcome.OK, "", 3, True)
    assert (sample.pool, sample.replica, sample.reason) == ("baseline", "r", "overflow")


@pytest.mark.parametrize("driver", DRIVERS)
async def test_without_usage_events_count_as_tokens(engine: FakeEngine, driver: str) -> None:
    sample = await one(driver, engine, stream(chat_events(("a", "b", "c"), usage_tail=False)), ask())
    assert (sample.tokens, sample.counted, sample.ok) == (3, False, True)


@pytest.mark.parametrize("driver", DRIVERS)
async def test_no_connection(driver: str) -> None:
    with socket.socket() as bound:  # never listens, so that connecting is refused
        bound.bind(("127.0.0.1", 0))
        [sample] = await DRIVERS[driver](f"http://127.0.0.1:{bound.getsockname()[1]}", [ask()], 10.0)
    assert sample.outcome is Outcome.CONNECT


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("before", [[], [head(200, SSE_HEADERS)]])
async def test_too_long(engine: FakeEngine, driver: str, before: list[bytes]) -> None:
    sample = await one(driver, engine, play(*before, End.HANG), ask(), 0.3)
    assert sample.outcome is Outcome.TIMEOUT
    await engine.requests[0].wait_gone()


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("after", "events"), [(0, 0), (1, 1), (2, 2)])
async def test_cancelling_closes_the_connection(engine: FakeEngine, driver: str, after: int, events: int) -> None:
    slow = answer([f"{number} " for number in range(200)], gap=0.05)
    sample = await one(driver, engine, slow, Ask(ask().body, cancel_after=after))
    assert (sample.outcome, sample.failed, sample.events) == (Outcome.CANCELLED, False, events)
    await (await engine.next_request()).wait_gone()


async def test_connections_are_used_again_only_while_fresh(engine: FakeEngine) -> None:
    from loadtest.client import AsyncClient, parse_target
    from loadtest.client.aio import IDLE_SECONDS

    engine.forget()
    engine.respond = answer()
    async with AsyncClient(parse_target(engine.url)) as client:
        for _ in range(3):
            assert (await client.ask(ask())).ok
        assert len({request.connection for request in engine.requests}) == 1
        await asyncio.sleep(IDLE_SECONDS)
        assert (await client.ask(ask())).ok
        assert len({request.connection for request in engine.requests}) == 2
        engine.respond = fail(503)
        await client.ask(ask())
        engine.respond = answer()
        assert (await client.ask(ask())).ok
        assert len({request.connection for request in engine.requests}) == 2
