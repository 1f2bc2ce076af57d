"""The gateway in front of a real SGLang server: what the scripted engines of the other tests stand for."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from spillway_engine.prestop import wait_until_quiet
from spillway_engine.probe import unready
from spillway_engine.verify import comparison
from tests.sglang.server import MODEL, Server
from tests.support.config import config, model, pool
from tests.support.gateway import Gateway, gateway

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(400)]

LIMITS = {"first_byte_seconds": 60.0, "idle_seconds": 30.0}
HEALTH = {"interval": 0.5, "timeout": 5.0}


def settings(server: Server) -> dict[str, Any]:
    """The gateway's file: one SGLang in the speculative pool."""
    return config(model(speculative=pool([server.url], HEALTH, engine="sglang"), name=MODEL), limits=LIMITS)


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Gateway, list[int]]]:
    """A server from before it serves, a gateway in front of it, and what the gateway answered while it loaded."""
    with Server(tmp_path_factory.mktemp("sglang") / "sglang.log") as server, gateway(settings(server), None) as front:
        front.wait_up("/health")
        answered = [ask(front, max_tokens=1).status_code]
        server.wait_ready()
        front.wait_up("/ready", 30)
        yield server, front, answered


@pytest.fixture(scope="module")
def server(loading: tuple[Server, Gateway, list[int]]) -> Server:
    """The server, which serves."""
    return loading[0]


@pytest.fixture(scope="module")
def front(loading: tuple[Server, Gateway, list[int]]) -> Gateway:
    """The gateway, which is ready."""
    return loading[1]


def body(**changes: Any) -> dict[str, Any]:
    """A request for a chat completion."""
    message = {"role": "user", "content": "Say hello."}
    return {"model": MODEL, "messages": [message], "max_tokens": 8, "temperature": 0, "ignore_eos": True, **changes}


def ask(front: Gateway, **changes: Any) -> httpx.Response:
    """One chat completion."""
    return httpx.post(f"{front.base_url}/v1/chat/completions", json=body(**changes), timeout=60, trust_env=False)


def events(text: str) -> list[dict[str, Any]]:
    """The events of a stream, without its end."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_it_is_503_while_it_loads(loading: tuple[Server, Gateway, list[int]]) -> None:
    server, _, answered = loading
    assert answered == [503]
    assert set(server.seen) <= {"refused", 503}
    assert server.seen[0] == "refused"
    assert unready(server.url, 10) is None


def test_a_completion(front: Gateway) -> None:
    answer = ask(front)
    assert answer.status_code == 200
    assert answer.headers["x-spillway-pool"] == "speculative"
    content = answer.json()
    assert content["choices"][0]["finish_reason"] == "length"
    assert content["usage"]["completion_tokens"] == 8


def test_a_stream_and_its_usage(front: Gateway) -> None:
    plain = events(ask(front, stream=True).text)
    assert sum(bool(it["choices"][0]["delta"].get("content")) for it in plain) > 2
    assert not any(it.get("usage") for it in plain)
    asked = events(ask(front, stream=True, stream_options={"include_usage": True}).text)
    assert asked[-1]["usage"]["completion_tokens"] == 8
    assert asked[-1]["choices"] == []


async def test_tokens_are_counted_though_the_client_did_not_ask(front: Gateway) -> None:
    before = front.metrics().total("spillway_tokens_total", kind="completion")
    ask(front, stream=True, max_tokens=5)
    await front.counted("spillway_tokens_total", before + 5, kind="completion")


def test_its_errors_are_passed_on(front: Gateway) -> None:
    answer = ask(front, max_tokens=100_000)
    assert answer.status_code == 400
    assert "context" in answer.text


def test_its_own_endpoint_is_relayed(front: Gateway) -> None:
    request = {"text": "hello", "sampling_params": {"temperature": 0, "max_new_tokens": 3, "ignore_eos": True}}
    answer = httpx.post(f"{front.base_url}/generate", json=request, timeout=60, trust_env=False)
    assert len(answer.raise_for_status().json()["output_ids"]) == 3


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_ends_its_work(front: Gateway, server: Server, stream: bool) -> None:
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        request = body(stream=stream, max_tokens=3000)
        asking = asyncio.create_task(client.post(f"{front.base_url}/v1/chat/completions", json=request))
        await front.eventually(lambda: server.running() == 1, 20)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
    await front.eventually(lambda: server.running() == 0, 10, server.running)
    await front.assert_idle()


def test_probes_cost_no_token(server: Server) -> None:
    def generated() -> float:
        found = re.findall(r"^sglang:generation_tokens_total\{.*\} (\S+)$", server.metrics(), re.MULTILINE)
        return sum(map(float, found))

    before = generated()
    for _ in range(5):
        assert server.health() == 200
    assert generated() == before


def test_metrics_that_are_relied_on_exist(server: Server) -> None:
    text = server.metrics()
    for name in (
        "sglang:num_running_reqs",
        "sglang:num_queue_reqs",
        "sglang:gen_throughput",
        "sglang:token_usage",
        "sglang:spec_accept_length",
        "sglang:http_requests_total",
        "sglang:generation_tokens_total",
        "sglang:time_to_first_token_seconds_bucket",
    ):
        assert re.search(rf"^{name}[{{ ]", text, re.MULTILINE), name


def test_its_load_has_what_is_read(server: Server) -> None:
    answer = httpx.get(f"{server.url}/v1/loads", params={"include": "core"}, timeout=10, trust_env=False)
    [load] = answer.raise_for_status().json()["loads"]
    assert {"num_running_reqs", "num_waiting_reqs", "max_running_requests"} <= load.keys()


async def test_an_engine_is_compared_with_itself(server: Server) -> None:
    prompts = ("hello there", "def f(x):", "one two three")
    result = await comparison.compare(server.url, server.url, prompts=prompts, max_tokens=12, concurrency=1, tie=0.1)
    assert [side.kind for side in result.sides] == ["sglang", "sglang"]
    assert result.by_token
    assert result.lossless
    assert result.sides[0].tokens > 0


def test_the_stop_waits_while_requests_arrive(server: Server, front: Gateway) -> None:
    asked = [0.0]

    def sleep(seconds: float) -> None:
        if asked[0] < 3:
            ask(front, max_tokens=1)
            asked[0] += 1
        time.sleep(seconds)

    started = time.monotonic()
    wait_until_quiet(server.url, least=0.0, quiet=1.5, most=30.0, sleep=sleep)
    assert asked[0] == 3
    assert time.monotonic() - started >= 3.0


async def test_at_sigterm_it_finishes_and_still_accepts(front: Gateway, server: Server) -> None:
    """The last test: the server is gone after it."""
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        request = body(max_tokens=200)
        running = asyncio.create_task(client.post(f"{front.base_url}/v1/chat/completions", json=request))
        await front.eventually(lambda: server.running() == 1, 20)
        server.process.terminate()
        await front.eventually(lambda: server.health() == 503, 10, server.health)
        late = await client.post(f"{server.url}/v1/chat/completions", json=body(max_tokens=1))
        assert late.status_code == 200
        # The gateway has seen it by its probes and sends nothing more, while what it has is finished.
        await front.eventually(lambda: front.pool_status("speculative")["replicas"][0]["state"] != "ready", 10)
        answer = await running
    assert answer.json()["usage"]["completion_tokens"] == 200
    assert await asyncio.to_thread(server.process.wait, 60) is not None
    assert ask(front).status_code == 503
