"""Traces of a real gateway, exported to a real receiver and read back."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from dashboards import ALL
from tests.monitoring.prometheus import prometheus
from tests.support.behaviours import AFTER_FIRST_BYTE, answer, fail
from tests.support.config import config
from tests.support.gateway import Gateway, gateway
from tests.support.site import CHAT, Site, chat, fake_model
from tests.support.threads import EngineThread
from tests.tracing.receiver import Receiver, attributes, receiver

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@contextmanager
def traced(thread: EngineThread, **environment: str) -> Iterator[tuple[Site, Receiver]]:
    """A gateway that exports at once."""
    with ExitStack() as stack:
        received = stack.enter_context(receiver())
        first, second = (stack.enter_context(thread.engines(1)) for _ in range(2))
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": received.url, "OTEL_BSP_SCHEDULE_DELAY": "50", **environment}
        running: Gateway = stack.enter_context(gateway(config(fake_model(first, second)), env=env))
        yield Site(running, first, second), received


@pytest.fixture(scope="module")
def running(engine_thread: EngineThread) -> Iterator[tuple[Site, Receiver]]:
    with traced(engine_thread) as made:
        yield made


@pytest.fixture
def here(running: tuple[Site, Receiver]) -> Site:
    site, received = running
    site.respond(answer(gap=0.01))
    received.spans.clear()
    return site


@pytest.fixture
def received(running: tuple[Site, Receiver]) -> Receiver:
    return running[1]


async def one(here: Site, received: Receiver) -> Span:
    """The span of the only request, once it has come whole."""
    await here.gateway.eventually(lambda: received.roots(), 10.0, lambda: received.spans)
    [root] = received.roots()
    return root


async def test_a_stream(here: Site, received: Receiver) -> None:
    async with here.client() as client:
        sent = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "r-1"}
        await client.post(CHAT, json=chat(stream=True), headers=sent)
    root = await one(here, received)
    assert (root.name, root.trace_id.hex(), root.parent_span_id.hex()) == ("chat fake", TRACE, PARENT)
    told = attributes(root)
    first = told.pop("gen_ai.response.time_to_first_chunk")
    assert isinstance(first, float)
    assert 0 < first < 5
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "fake",
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "server.address": "127.0.0.1",
        "server.port": here.speculative[0].port,
        "http.response.status_code": 200,
        "url.path": CHAT,
        "spillway.request.id": "r-1",
        "spillway.pool": "speculative",
        "spillway.reason": "under_threshold",
        "spillway.concurrency": 1,
        "spillway.retries": 0,
        "spillway.ended": "finished",
    }
    parts = received.parts(root)
    assert list(parts) == ["decide", "connect", "first byte", "stream"]
    times = [time for part in parts.values() for time in (part.start_time_unix_nano, part.end_time_unix_nano)]
    assert times == sorted(times)
    assert root.start_time_unix_nano <= times[0] + 5_000_000
    assert times[-1] == root.end_time_unix_nano
    assert received.resource["service.name"] == "spillway"


async def test_the_engine_continues_our_span(here: Site, received: Receiver) -> None:
    async with here.client() as client:
        await client.post(CHAT, json=chat())
    root = await one(here, received)
    header = here.speculative[0].requests[0].header("traceparent")
    assert header == f"00-{root.trace_id.hex()}-{root.span_id.hex()}-01"
    assert not root.parent_span_id


async def test_a_retry_and_a_broken_stream(here: Site, received: Receiver) -> None:
    here.speculative[0].script.append(fail(503))
    here.baseline[0].script.append(AFTER_FIRST_BYTE["close after an event"])
    async with here.client() as client:
        await client.post(CHAT, json=chat(stream=True))
    root = await one(here, received)
    told = attributes(root)
    assert (told["spillway.pool"], told["spillway.reason"], told["spillway.retries"]) == ("baseline", "failover", 1)
    assert (told["spillway.ended"], root.status.code) == ("broken", Status.STATUS_CODE_ERROR)
    assert "closed" in str(told["error.type"])


async def test_what_is_refused_has_its_span(here: Site, received: Receiver) -> None:
    async with here.client() as client:
        await client.post(CHAT, json=chat(model="other"))
    root = await one(here, received)
    assert (root.name, attributes(root)["http.response.status_code"]) == ("chat", 404)
    assert received.parts(root) == {}


async def test_no_name_comes_from_the_client(here: Site, received: Receiver) -> None:
    async with here.client() as client:
        await client.get("/v1/things/of-mine-7?model=fake")
    root = await one(here, received)
    assert root.name == "other fake"
    assert attributes(root)["url.path"] == "/v1/things/of-mine-7"


async def test_a_client_that_does_not_sample_is_heeded(here: Site, received: Receiver) -> None:
    async with here.client() as client:
        await client.post(CHAT, json=chat(), headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
        await client.post(CHAT, json=chat(), headers={"x-request-id": "second"})
    root = await one(here, received)
    assert attributes(root)["spillway.request.id"] == "second"
    header = here.speculative[0].requests[0].header("traceparent") or ""
    assert header.startswith(f"00-{TRACE}-")
    assert header.endswith("-00")
    assert PARENT not in header


async def test_exemplars_carry_the_trace(here: Site, received: Receiver) -> None:
    async with here.client() as client:
        await client.post(CHAT, json=chat(stream=True))
        root = await one(here, received)
        page = await client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    for name in ("spillway_ttft_seconds_bucket", "spillway_request_duration_seconds_bucket"):
        marked = [line for line in page.text.splitlines() if line.startswith(name) and "# {" in line]
        assert any(f'# {{trace_id="{root.trace_id.hex()}"}}' in line for line in marked)


async def test_a_panel_leads_to_the_trace(here: Site, received: Receiver, tmp_path: Path) -> None:
    """A real Prometheus takes the exemplars in, and gives them for the query of a panel that asks for them."""
    [ttft] = [panel for board in ALL for panel in board.panels if panel.title == "Time to first token"]
    [query] = [query.expr for query in ttft.queries if query.exemplars]
    filled = query.replace("$__rate_interval", "30s").replace("$model", ".*")
    with prometheus(tmp_path, [(f"127.0.0.1:{here.gateway.port}", {"namespace": "llm"})]) as server:
        async with here.client() as client:
            await client.post(CHAT, json=chat(stream=True))
        trace = (await one(here, received)).trace_id.hex()
        found = {"trace_id": trace}
        await asyncio.to_thread(
            server.until, lambda: found in server.exemplars(filled), lambda: server.exemplars(filled)
        )


async def test_the_ratio_is_heeded(engine_thread: EngineThread) -> None:
    ratio = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}
    with traced(engine_thread, **ratio) as (here, received):
        async with here.client() as client:
            await client.post(CHAT, json=chat())
        assert (here.speculative[0].requests[0].header("traceparent") or "").endswith("-00")
        here.gateway.terminate()
        assert await here.gateway.wait_exit() == 0
        assert received.spans == []


async def test_what_is_left_is_sent_at_the_end(engine_thread: EngineThread) -> None:
    with traced(engine_thread, OTEL_BSP_SCHEDULE_DELAY="60000") as (here, received):
        async with here.client() as client:
            await client.post(CHAT, json=chat())
        here.gateway.terminate()
        assert await here.gateway.wait_exit() == 0
        assert len(received.roots()) == 1


async def test_a_receiver_that_is_away_costs_no_request(engine_thread: EngineThread) -> None:
    with traced(engine_thread, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9") as (here, _):
        async with here.client() as client:
            assert (await client.post(CHAT, json=chat())).status_code == 200
        here.gateway.terminate()
        assert await here.gateway.wait_exit(20) == 0
