"""A request from its arrival to its record: retries, the line, cancellation, and what is logged."""

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest

from gateway.config import Retries
from gateway.pools import Pool
from gateway.pools.health import Health
from gateway.relay import handler
from tests.models.fleet import recover
from tests.relay.downstream import Downstream
from tests.relay.relays import Site, told
from tests.support.behaviours import End, broken_stream, play, stream
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.threads import EngineThread
from tests.support.wire import chat_events, json_reply

pytestmark = pytest.mark.usefixtures("whole")

OK = play(json_reply(200, {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}))
MARK = "marmalade"

Make = Callable[..., Site]


@pytest.fixture
def engines(engine_thread: EngineThread) -> Iterator[list[FakeEngine]]:
    with engine_thread.engines(3) as started:
        for engine in started:
            engine.respond = OK
        yield started


@pytest.fixture
def make(engines: list[FakeEngine]) -> Iterator[Make]:
    """Sites of these engines, which must have nothing in flight at the end and no prompt in their log."""
    sites: list[Site] = []

    def build(speculative: int = 1, baseline: int = 0, **policy: object) -> Site:
        sites.append(Site(engines[:speculative], engines[speculative : speculative + baseline], **policy))
        return sites[-1]

    yield build
    for site in sites:
        log = site.close()
        assert MARK.encode() not in log
        assert all(json.loads(line)["event"] == "request" for line in log.splitlines())


def error(downstream: Downstream) -> tuple[int, str]:
    return downstream.status, json.loads(downstream.body)["error"]["code"]


async def test_an_answer_says_where_it_came_from(make: Make, engines: list[FakeEngine]) -> None:
    site = make(1, 1)
    downstream = await site.ask(headers={"x-request-id": "mine"})
    assert (downstream.status, downstream.complete) == (200, True)
    assert told(downstream, b"x-spillway-pool") == b"speculative"
    assert told(downstream, b"x-spillway-replica") == engines[0].label.encode()
    assert told(downstream, b"x-spillway-reason") == b"under_threshold"
    assert told(downstream, b"x-request-id") == b"mine"


async def test_no_prompt_is_logged(make: Make, engines: list[FakeEngine], caplog: pytest.LogCaptureFixture) -> None:
    """However a request ends."""
    site = make(2)
    replicas = site.model.pools["speculative"].replicas.values()
    said = [{"role": "user", "content": f"a secret: {MARK}"}]
    echo = json.dumps({"error": {"message": MARK}}).encode()
    behaviours = [
        OK,
        stream(chat_events([MARK])),
        broken_stream(chat_events([MARK])[:-1]),
        play(json_reply(400, {"error": {"message": MARK}})),
        play(json_reply(503, {"error": {"message": MARK}})),
        play(b"garbage " + echo + b"\r\n\r\n", End.CLOSE),
        play(End.RESET),
    ]
    for behaviour in behaviours:
        for engine in engines[:2]:
            engine.respond = behaviour
        for streamed in (False, True):
            await site.ask(messages=said, stream=streamed)
        for replica in replicas:
            replica.health.request_succeeded()
    await site.ask(b'{"model": "m", "prompt": "' + MARK.encode())
    await site.ask(messages=said, model="other")
    assert MARK not in caplog.text


async def test_a_failed_attempt_goes_to_another_replica(make: Make, engines: list[FakeEngine]) -> None:
    site = make(2)
    await site.ask()
    failing = 0 if engines[0].requests else 1  # the same conversation goes to the same replica
    engines[failing].respond = play(json_reply(503, {}))
    downstream = await site.ask()
    assert downstream.status == 200
    assert told(downstream, b"x-spillway-replica") == engines[1 - failing].label.encode()
    assert told(downstream, b"x-spillway-reason") == b"failover"
    assert site.value("spillway_retries_total", model="m", pool="speculative", reason="status") == 1
    assert [replica.label for replica in site.suspects] == [engines[failing].label]


async def test_then_to_the_other_pool(make: Make, engines: list[FakeEngine]) -> None:
    site = make(2, 1)
    for engine in engines[:2]:
        engine.respond = play(End.RESET)
    downstream = await site.ask()
    assert (downstream.status, told(downstream, b"x-spillway-pool")) == (200, b"baseline")


async def test_when_all_fail_the_client_hears_of_it(make: Make, engines: list[FakeEngine]) -> None:
    site = make(2, 1)
    for engine in engines:
        engine.respond = play(End.RESET)
    assert error(await site.ask()) == (502, "engine_failed")
    for engine in engines:
        engine.respond = play(json_reply(503, {"error": "mine"}))
    downstream = await site.ask()
    assert (downstream.status, json.loads(downstream.body)) == (503, {"error": "mine"}), "the engine's own answer"


@pytest.mark.parametrize(("attempts", "asked"), [(1, 1), (2, 2), (3, 3), (9, 3)])
async def test_attempts_are_limited(make: Make, engines: list[FakeEngine], attempts: int, asked: int) -> None:
    site = make(3)
    site.budget.reconfigure(Retries(attempts=attempts))
    for engine in engines:
        engine.respond = play(json_reply(503, {}))
    assert (await site.ask()).status == 503
    assert sum(len(engine.requests) for engine in engines) == asked


async def test_retries_are_limited_in_all(make: Make, engines: list[FakeEngine]) -> None:
    site = make(3)
    site.budget.reconfigure(Retries(burst=0, ratio=0))
    for engine in engines:
        engine.respond = play(json_reply(503, {}))
    await site.ask()
    assert sum(len(engine.requests) for engine in engines) == 1


async def held(site: Site, engine: FakeEngine, count: int) -> "tuple[Gate, list[asyncio.Task[None]]]":
    """So many requests are in flight until the gate opens."""
    gate = Gate()
    engine.respond = play(gate, json_reply(200, {}))
    tasks = [site.begin()[1] for _ in range(count)]
    await engine.next_request(count - 1)
    return gate, tasks


async def test_a_full_pool_makes_requests_wait(make: Make, engines: list[FakeEngine]) -> None:
    site = make(1)
    gate, tasks = await held(site, engines[0], 2)
    downstream, waiting = site.begin()
    await asyncio.sleep(0.02)
    assert (len(site.model.queue), site.model.inflight) == (1, 2)
    gate.open()
    await asyncio.gather(*tasks, waiting)
    assert downstream.status == 200


@pytest.mark.parametrize("queue", [{"size": 0, "timeout": 30}, {"size": 5, "timeout": 0.03}])
async def test_a_wait_in_vain(make: Make, engines: list[FakeEngine], queue: dict[str, float]) -> None:
    site = make(1, queue=queue)
    gate, tasks = await held(site, engines[0], 2)
    downstream = await site.ask()
    assert error(downstream) == (429, "overloaded")
    assert told(downstream, b"retry-after") == b"1"
    gate.open()
    await asyncio.gather(*tasks)


async def test_who_waits_for_a_model_that_is_taken_away(make: Make, engines: list[FakeEngine]) -> None:
    """It hears so at once, and those that run go on."""
    site = make(1, queue={"size": 5, "timeout": 30})
    gate, tasks = await held(site, engines[0], 2)
    downstream, waiting = site.begin()
    await asyncio.sleep(0.01)
    site.model.retire()
    async with asyncio.timeout(2):
        await waiting
    assert error(downstream) == (503, "no_replica_ready")
    gate.open()
    await asyncio.gather(*tasks)


async def test_a_client_that_leaves_the_line(make: Make, engines: list[FakeEngine]) -> None:
    site = make(1)
    gate, tasks = await held(site, engines[0], 2)
    downstream, waiting = site.begin()
    await asyncio.sleep(0.01)
    downstream.leave()
    await waiting
    assert len(site.model.queue) == 0
    assert site.value("spillway_cancelled_total", phase="queued") == 1
    gate.open()
    await asyncio.gather(*tasks)


async def test_requests_that_are_cut_off_leave_nothing_behind(make: Make, engines: list[FakeEngine]) -> None:
    """At the end of a drain: in the line, before the first byte, and in the midst of a stream."""
    site = make(1)
    engines[0].respond = broken_stream(chat_events("a")[:1], End.HANG)
    _, first = site.begin(stream=True)
    await engines[0].next_request()
    await asyncio.sleep(0.02)
    engines[0].respond = play(End.HANG)
    (_, second), (_, third) = site.begin(), site.begin()
    await engines[0].next_request(1)
    await asyncio.sleep(0.01)
    assert (site.model.inflight, len(site.model.queue)) == (2, 1)
    for task in (first, second, third):
        task.cancel()
    results = await asyncio.gather(first, second, third, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    for request in engines[0].requests:
        await request.wait_gone()


async def test_nobody_is_ready(make: Make, engines: list[FakeEngine]) -> None:
    site = make(1)
    pool = site.model.pools["speculative"]
    for replica in pool.replicas.values():
        replica.health.probe_failed()
        replica.health.probe_failed()
    pool.refresh()
    assert error(await site.ask()) == (503, "no_replica_ready")
    assert engines[0].requests == []


def found(site: Site) -> Pool:
    """The site's pool with its replicas as just found: nobody has probed them."""
    pool = site.model.pools["speculative"]
    for replica in pool.replicas.values():
        replica.health = Health(replica.config.health)
    pool.refresh()
    return pool


async def test_a_first_probe_is_waited_for(make: Make) -> None:
    site = make(1)
    pool = found(site)
    downstream, waiting = site.begin()
    await asyncio.sleep(0.02)
    assert not waiting.done()
    recover(pool, *pool.replicas.values())
    await waiting
    assert downstream.status == 200


async def test_a_first_probe_is_not_waited_for_without_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the first nor by those that queue behind it, however long a queue may last."""
    monkeypatch.setattr(handler, "_FIRST_PROBE_SECONDS", 0.05)
    site = make(1, queue={"size": 5, "timeout": 30})
    found(site)
    (first, one), (second, other) = site.begin(), site.begin()
    async with asyncio.timeout(3):
        await asyncio.gather(one, other)
    assert error(first) == error(second) == (503, "no_replica_ready")


async def test_nobody_waits_for_a_probe_where_nobody_may_queue(make: Make) -> None:
    site = make(1, queue={"size": 0})
    found(site)
    assert error(await site.ask()) == (503, "no_replica_ready")


async def test_only_probes_of_pools_that_may_serve_are_waited_for(make: Make) -> None:
    site = make(1, 1)
    found(site)
    baseline = site.model.pools["baseline"]
    for replica in baseline.replicas.values():
        replica.health.probe_failed()
        replica.health.probe_failed()
    baseline.refresh()
    assert error(await site.ask(headers={"x-spillway-pool": "baseline"})) == (503, "no_replica_ready")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-spillway-pool": "Baseline "}, 200),
        ({"x-spillway-pool": "fast"}, 400),
        ({"content-type": "text/plain"}, 415),
    ],
)
async def test_wishes(make: Make, headers: dict[str, str], status: int) -> None:
    site = make(1, 1)
    downstream = await site.ask(headers=headers)
    assert downstream.status == status
    if status == 200:
        assert told(downstream, b"x-spillway-reason") == b"pinned"
        assert told(downstream, b"x-spillway-pool") == b"baseline"
