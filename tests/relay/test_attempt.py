"""One attempt: what it does to its connection, its lease and its client, however the engine behaves."""

import asyncio
from collections.abc import Iterator

import pytest

from gateway.relay.attempt import Failure
from gateway.relay.client import ClientGoneError
from gateway.relay.engine import EngineError
from tests.relay.attempts import Bench
from tests.support.behaviours import End, Step, broken_stream, play, stream
from tests.support.exchange import Gate
from tests.support.threads import EngineThread
from tests.support.wire import CHUNKED, SSE_HEADERS, chat_events, chunk, head, json_reply

pytestmark = pytest.mark.usefixtures("whole")

OK = json_reply(200, {"usage": {"prompt_tokens": 7, "completion_tokens": 3}})


@pytest.fixture
def here(engine_thread: EngineThread) -> Iterator[Bench]:
    with engine_thread.engines() as [engine]:
        made = Bench(engine)
        yield made
        made.connections.close()
        assert made.pool.inflight == made.replica.inflight == 0


async def test_an_answer(here: Bench) -> None:
    here.engine.script.append(play(OK))
    trial = here.attempt()
    assert await trial.run() is None
    assert (trial.downstream.status, trial.downstream.complete) == (200, True)
    assert trial.downstream.body == OK.partition(b"\r\n\r\n")[2]
    record = trial.call.record
    assert (record.status, record.prompt_tokens, record.completion_tokens) == (200, 7, 3)
    assert record.first_byte


async def test_a_stream_whose_usage_is_asked_for_and_withheld(here: Bench) -> None:
    events = chat_events("abc", usage_tail=True)
    here.engine.script.append(stream(events))
    trial = here.attempt(stream=True)
    assert await trial.run() is None
    assert (await here.engine.next_request()).json()["stream_options"] == {"include_usage": True}
    assert trial.downstream.body == b"".join([*events[:-2], events[-1]])
    assert (trial.call.record.prompt_tokens, trial.call.record.completion_tokens) == (7, 3)


async def test_a_stream_whose_usage_the_client_wants(here: Bench) -> None:
    events = chat_events("abc", usage_tail=True)
    here.engine.script.append(stream(events, gap=0.005))
    trial = here.attempt(stream=True, stream_options={"include_usage": True})
    assert await trial.run() is None
    assert trial.downstream.body == b"".join(events)
    assert (trial.call.record.prompt_tokens, trial.call.record.completion_tokens) == (7, 3)


async def test_a_stale_connection_is_replaced_under_the_same_lease(here: Bench) -> None:
    """The engine closes a kept connection as it is reused; the request goes on, and counts all the while."""
    assert await here.attempt().run() is None
    gate = Gate()
    here.engine.script.extend([play(End.CLOSE), play(gate, OK)])
    second = here.attempt()
    running = asyncio.create_task(second.run())
    await here.engine.next_request(2)
    assert second.grant.lease.held
    assert here.pool.inflight == here.replica.inflight == 1
    gate.open()
    assert await running is None
    assert second.downstream.complete
    assert here.pool.inflight == 0
    assert second.call.record.retries == 1


async def test_a_stale_connection_is_replaced_once(here: Bench) -> None:
    assert await here.attempt().run() is None
    here.engine.script.extend([play(End.CLOSE), play(End.CLOSE)])
    failure = await here.attempt().run()
    assert isinstance(failure, Failure)
    assert failure.kind == "reset"
    assert len(here.engine.requests) == 3


async def test_a_hung_engine_is_not_asked_again_on_a_fresh_connection(here: Bench) -> None:
    """What probes found out about the engine is no news of a stale connection."""
    assert await here.attempt().run() is None
    here.engine.script.append(play(End.HANG))
    running = asyncio.create_task(here.attempt().run())
    await here.engine.next_request(1)
    here.connections.abort(here.replica)
    failure = await asyncio.wait_for(running, 2)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.final) == ("reset", False)
    assert len(here.engine.requests) == 2


CLOSED: list[tuple[Step, ...]] = [
    (End.CLOSE,),
    (End.RESET,),
    (b"HTTP/1.1 200 OK\r\n", End.CLOSE),
    (head(200, CHUNKED), End.RESET),
    (b"garbage\r\n\r\n", End.HANG),
]


@pytest.mark.parametrize("steps", CLOSED)
async def test_no_answer(here: Bench, steps: tuple[Step, ...]) -> None:
    here.engine.script.append(play(*steps))
    trial = here.attempt()
    failure = await trial.run()
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.blames_replica, failure.final) == ("reset", True, False)
    assert failure.error is not None
    assert failure.error.status == 502
    assert trial.downstream.messages == []


async def test_no_connection(here: Bench) -> None:
    await here.engine.kill()
    failure = await here.attempt().run()
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.blames_replica) == ("connect", True)


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_an_answer_that_says_elsewhere(here: Bench, status: int) -> None:
    """It fails the attempt, and can still be delivered if nobody else answers."""
    here.engine.script.append(play(json_reply(status, {"error": "busy"})))
    trial = here.attempt()
    failure = await trial.attempt.start()
    assert failure == Failure("status", None)
    assert await trial.attempt.deliver([]) is None
    assert (trial.downstream.status, trial.downstream.complete) == (status, True)
    trial.attempt.close()
    trial.grant.lease.release()


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500])
async def test_other_errors_are_answers(here: Bench, status: int) -> None:
    here.engine.script.append(play(json_reply(status, {"error": "no"})))
    trial = here.attempt()
    assert await trial.run() is None
    assert trial.downstream.status == status


SILENT: list[tuple[Step, ...]] = [(), (head(200, (*SSE_HEADERS, *CHUNKED)),)]


@pytest.mark.parametrize("steps", SILENT)
async def test_a_client_that_leaves_before_the_first_byte(here: Bench, steps: tuple[Step, ...]) -> None:
    """The engine's connection is closed at once."""
    here.engine.script.append(play(*steps, End.HANG))
    trial = here.attempt(stream=True)
    running = asyncio.create_task(trial.run())
    request = await here.engine.next_request()
    await asyncio.sleep(0.01)
    trial.downstream.leave()
    with pytest.raises(ClientGoneError):
        await running
    await request.wait_gone()
    assert here.pool.inflight == 0


async def test_a_client_that_leaves_in_the_midst_of_a_stream(here: Bench) -> None:
    here.engine.script.append(broken_stream(chat_events("ab")[:-1], End.HANG))
    trial = here.attempt(stream=True)
    running = asyncio.create_task(trial.run())
    request = await here.engine.next_request()
    await asyncio.sleep(0.02)
    trial.downstream.leave()
    with pytest.raises(ClientGoneError):
        await running
    await request.wait_gone()


async def test_a_client_that_left_before_anything_was_sent(here: Bench) -> None:
    trial = here.attempt()
    trial.downstream.leave()
    with pytest.raises(ClientGoneError):
        await trial.run()
    await asyncio.sleep(0.01)
    assert here.engine.requests == []


async def test_a_stream_that_breaks_ends_in_an_error_event(here: Bench) -> None:
    events = chat_events("ab")[:-2]
    here.engine.script.append(broken_stream([*events, b"data: {"]))
    trial = here.attempt(stream=True)
    assert isinstance(await trial.run(), EngineError)
    body = trial.downstream.body
    assert body.startswith(b"".join(events) + b'data: {"error": ')
    assert trial.downstream.complete


async def test_another_response_that_breaks_is_cut_off(here: Bench) -> None:
    here.engine.script.append(play(head(200, CHUNKED), chunk(b"half"), 0.02, End.RESET))
    trial = here.attempt()
    assert isinstance(await trial.run(), EngineError)
    assert trial.downstream.body == b"half"
    assert trial.downstream.aborted
    assert not trial.downstream.complete


@pytest.mark.parametrize("status", [204, 304])
async def test_a_length_without_a_body_is_not_passed_on(here: Bench, status: int) -> None:
    here.engine.script.append(play(head(status, (("content-length", "99"), ("x-kept", "1")))))
    trial = here.attempt()
    assert await trial.run() is None
    [start] = [message for message in trial.downstream.messages if message["type"] == "http.response.start"]
    assert start["headers"] == [(b"x-kept", b"1")]
    assert trial.downstream.complete
