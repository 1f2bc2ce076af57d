"""Every query of every panel on a real Prometheus that scrapes a real gateway under traffic through both pools."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import httpx
import pytest

from dashboards import ALL, Dashboard
from tests.kube.apiserver import ApiServer
from tests.kube.apiserver.errors import StatusError
from tests.monitoring.prometheus import Prometheus, prometheus
from tests.monitoring.sglang import RECORDED, page
from tests.support.behaviours import answer
from tests.support.config import config, model
from tests.support.redis import redis_server
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread

POOLS = ("speculative", "baseline")
ADAPTIVE = {
    "kind": "adaptive",
    "curves": {
        "speculative": [{"inflight": 1, "rate": 90}, {"inflight": 8, "rate": 20}],
        "baseline": [{"inflight": 1, "rate": 60}, {"inflight": 8, "rate": 30}],
    },
}
QUERIES = [
    pytest.param(query.expr, id=f"{board.name}: {panel.title}: {query.legend}")
    for board in ALL
    for panel in board.panels
    for query in panel.queries
]


def filled_in(expr: str) -> str:
    """The expression as Grafana would send it, with short windows."""
    for name, value in (("$__rate_interval", "10s"), ("$__range", "5m"), ("$model", ".*")):
        expr = expr.replace(name, value)
    return expr.replace("[5m:15s]", "[10s:1s]")


class Traffic:
    """Clients that ask again and again, few and many in turn: both pools serve at the same levels of concurrency.

    Two of them ask both pools, one after the other, all the time; six are let in for two seconds of every four, and go
    where the policy sends them.
    """

    def __init__(self, here: Site) -> None:
        self._engines = here.engines
        self._url = here.gateway.base_url
        self._over = threading.Event()
        self._many = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    async def _run(self) -> None:
        async with httpx.AsyncClient(base_url=self._url, trust_env=False, timeout=20) as client:
            await asyncio.gather(
                self._count(),
                self._alternate(),
                self._learn(client),
                *(self._client(client, number) for number in range(8)),
            )

    async def _client(self, client: httpx.AsyncClient, number: int) -> None:
        pinned = number < 2
        while not self._over.is_set():
            if not pinned:
                await self._many.wait()
            for headers in [{"x-spillway-pool": pool} for pool in POOLS] if pinned else [{}]:
                response = await client.post(CHAT, json=chat(stream=True), headers=headers)
                assert response.status_code == 200, response.text

    async def _learn(self, client: httpx.AsyncClient) -> None:
        while not self._over.is_set():
            response = await client.post(CHAT, json=chat(stream=True, model="learning"))
            assert response.status_code == 200, response.text

    async def _alternate(self) -> None:
        while not self._over.is_set():
            self._many.set()
            await asyncio.sleep(2)
            self._many.clear()
            await asyncio.sleep(2)
        self._many.set()

    async def _count(self) -> None:
        """The engines' own counters grow as well."""
        for seconds in count(1):
            for number, engine in enumerate(self._engines, 1):
                engine.metrics = page(seconds * number)
            await asyncio.sleep(1)
            if self._over.is_set():
                return


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus over a gateway with static pools, a pool in a cluster, a model that adapts and Redis, all in use."""
    folder = tmp_path_factory.mktemp("monitoring")
    with ExitStack() as stack:
        server = stack.enter_context(ApiServer(tls=True))
        server.faults.refuse(StatusError(503, "ServiceUnavailable", "starting"), times=3)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "kubeconfig", namespace="llm")))
        redis = stack.enter_context(redis_server())
        found = model(baseline={"discovery": {"kubernetes": {"service": "engines"}}}, name="found")
        policy = {"threshold": 3, "allow_pinning": True}
        running = stack.enter_context(
            site(
                engine_thread,
                settings=lambda fast, plain: config(
                    fake_model(fast, plain, policy=policy),
                    found,
                    {
                        **fake_model(fast, plain, {"engine_load": {"enabled": True}}, policy=ADAPTIVE),
                        "name": "learning",
                    },
                    redis={"urls": [redis.url]},
                ),
                wait_for="/health",
            )
        )
        for engine, at in ((running.speculative[0], 1.0), (running.baseline[0], 2.0)):
            engine.respond = answer(gap=0.01 * at)
        targets = [(f"127.0.0.1:{running.gateway.port}", {"namespace": "llm", "pod": "gateway-0"})]
        for pool, engine in zip(POOLS, running.engines, strict=True):
            labels = {"namespace": "llm", "spillway_model": "fake", "spillway_pool": pool}
            targets.append((f"127.0.0.1:{engine.port}", labels))
        while not all(running.gateway.pool_status(pool)["ready"] for pool in POOLS):
            time.sleep(0.05)
        stack.enter_context(Traffic(running))
        yield stack.enter_context(prometheus(folder, targets))


@pytest.mark.parametrize("expr", QUERIES)
def test_a_panel_has_data(here: Prometheus, expr: str) -> None:
    here.until(lambda: here.ask(filled_in(expr)), lambda: filled_in(expr))


def test_the_names_that_need_a_gpu_are_those_of_the_package() -> None:
    exprs = " ".join(query.expr for board in ALL for panel in board.panels for query in panel.queries)
    used = set(re.findall(r"sglang:\w+", exprs))
    assert used
    assert {name.removesuffix("_bucket") for name in used} <= RECORDED.keys()


@pytest.mark.parametrize("board", ALL, ids=[board.name for board in ALL])
def test_the_variable_has_values(here: Prometheus, board: Dashboard) -> None:
    found = re.fullmatch(r"label_values\(([\w:]+), (\w+)\)", board.models)
    assert found is not None
    metric, label = found.groups()
    assert "fake" in {labels[label] for labels, _ in here.ask(metric)}
