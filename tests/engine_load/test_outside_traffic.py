"""Real engines that are called past the gateway: it sees that, goes by it, and sees when it is over."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest

from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.model import prepare_model
from tests.status.pages import ask
from tests.support.config import config, model, pool
from tests.support.gateway import Gateway, gateway
from tests.support.site import CHAT, chat, placed

SECONDS = 60.0
THRESHOLD = 3


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[LocalEngine, LocalEngine]]:
    path = prepare_model()
    with (
        LocalEngine(path, name="speculative", drafting=Drafting(), slots=4) as fast,
        LocalEngine(path, name="baseline", slots=4) as plain,
    ):
        yield fast, plain


@pytest.fixture(scope="module")
def here(engines: tuple[LocalEngine, LocalEngine]) -> Iterator[Gateway]:
    load = {"enabled": True, "interval_seconds": 0.5, "stale_after_seconds": SECONDS}
    fast, plain = (pool([each.url], {"timeout": 5.0}, engine="llamacpp", engine_load=load) for each in engines)
    served = model(fast, plain, name=MODEL_NAME, policy={"threshold": THRESHOLD})
    with gateway(config(served, limits={"first_byte_seconds": SECONDS, "idle_seconds": SECONDS})) as running:
        yield running


def client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=SECONDS, trust_env=False)


@asynccontextmanager
async def busy(url: str, requests: int) -> AsyncIterator[None]:
    """So many streams that have begun, and are left at the end."""
    body = chat(stream=True, model=MODEL_NAME, max_tokens=900, ignore_eos=True)
    async with client(url) as http, AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(http.stream("POST", CHAT, json=body)) for _ in range(requests)]
        streams = [response.aiter_raw() for response in opened]
        for stream in streams:
            await anext(stream)
        yield


async def asked(here: Gateway) -> tuple[str, str]:
    """Where a short request goes, and why."""
    async with client(here.base_url) as http:
        response = await http.post(CHAT, json=chat(model=MODEL_NAME, max_tokens=2))
    assert response.status_code == 200
    return placed(response)


def outside(here: Gateway, role: str = "speculative") -> int:
    return int(here.pool_status(role)["outside"])


async def test_who_calls_engines_past_the_gateway_counts(
    here: Gateway, engines: tuple[LocalEngine, LocalEngine]
) -> None:
    fast, _ = engines
    assert await asked(here) == ("speculative", "under_threshold")
    async with busy(fast.url, THRESHOLD):
        await here.eventually(lambda: outside(here) == THRESHOLD, SECONDS)
        assert await asked(here) == ("baseline", "engine_load")
        [replica] = here.pool_status("speculative")["replicas"]
        assert replica["outside"] == THRESHOLD
        assert replica["engine_load"]["count"] >= THRESHOLD
        assert replica["engine_load"]["error"] is None
        metrics = here.metrics()
        assert metrics.total("spillway_outside_inflight", pool="speculative") == THRESHOLD
        assert metrics.total("spillway_route_decisions_total", pool="baseline", reason="engine_load") == 1
        shown = await asyncio.to_thread(ask, "--url", here.base_url)
        assert f"  {fast.url}          0        {THRESHOLD}  ready\n" in shown.stdout
    await here.eventually(lambda: outside(here) == 0, SECONDS)
    assert await asked(here) == ("speculative", "under_threshold")


async def test_requests_through_the_gateway_are_not_from_elsewhere(here: Gateway) -> None:
    """However they begin and end beside the readings."""
    seen: set[int] = set()
    async with client(here.base_url) as http:
        for round_ in range(4):
            body = chat(model=MODEL_NAME, max_tokens=12 * (round_ + 1), ignore_eos=True)
            requests = [asyncio.create_task(http.post(CHAT, json=body)) for _ in range(4)]
            while not all(request.done() for request in requests):
                seen |= {outside(here, role) for role in ("speculative", "baseline")}
                await asyncio.wait(requests, timeout=0.1)
            assert [request.result().status_code for request in requests] == [200] * 4
    assert seen == {0}
    assert here.metrics().total("spillway_engine_load_errors_total") == 0
