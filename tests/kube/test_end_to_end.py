"""A gateway process and engines that are endpoints of a Service: scaled, rolled and killed with real kubectl."""

import asyncio
import json
import time
from pathlib import Path

import httpx

from tests.kube.apiserver import ApiServer
from tests.kube.conftest import Kubectl
from tests.kube.serving import CALLERS, cluster, discovered, load, registration
from tests.kube.shapes import NAMESPACE, SERVICE, terminating
from tests.support import config as files
from tests.support.behaviours import answer
from tests.support.exchange import Gate
from tests.support.site import CHAT, chat, open_stream
from tests.support.threads import EngineThread

WORDS = tuple(f"word{number} " for number in range(12))


async def test_a_pool_without_endpoints_and_its_first(
    engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    with engine_thread.engines(2) as (one, two), cluster(kubectl, kubeconfig) as here:
        assert here.gateway.get("/ready").status_code == 503
        async with httpx.AsyncClient(base_url=here.gateway.base_url, trust_env=False) as client:
            assert (await client.post(CHAT, json=chat())).status_code == 503
        await here.apply(registration(one))
        await here.serves(one)
        assert here.gateway.get("/ready").status_code == 200
        await here.apply(registration(two))
        await here.serves(one, two)
        async with load(here) as callers:
            await asyncio.sleep(0.3)
        assert one.requests
        assert two.requests
        assert (callers.broken, callers.failed) == ([], [])


async def test_rolling_through_all_engines_under_load(
    engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    """For each old one: a new one comes, the old one terminates, gets nothing new, finishes, and goes."""
    with engine_thread.engines(6) as engines, cluster(kubectl, kubeconfig) as here:
        for engine in engines:
            engine.respond = answer(WORDS, gap=0.02)
        serving = list(engines[:3])
        await here.apply(*map(registration, serving))
        await here.serves(*serving)
        async with load(here) as callers:
            for fresh in engines[3:]:
                old = serving.pop(0)
                await here.apply(registration(fresh))
                await here.serves(old, *serving, fresh)
                serving.append(fresh)
                await here.apply(registration(old, terminating))
                await here.serves(*serving)
                await asyncio.sleep(0.05)
                before = len(old.requests)
                await asyncio.sleep(0.35)
                assert len(old.requests) == before, "a terminating replica gets nothing new"
                await here.delete(old)
                await old.kill()
        assert (callers.broken, callers.failed) == ([], [])
        assert len(callers.answered) > 25
        await here.gateway.assert_idle()
        assert len(here.gateway.pool_status("baseline")["replicas"]) == 3


async def test_streams_of_a_terminating_replica_finish(
    engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    gate = Gate()
    with engine_thread.engines(1) as [engine], cluster(kubectl, kubeconfig) as here:
        engine.respond = answer(hold=gate)
        await here.apply(registration(engine))
        await here.serves(engine)
        async with httpx.AsyncClient(base_url=here.gateway.base_url, trust_env=False) as client:
            held = await open_stream(client)
            await here.apply(registration(engine, terminating))
            await here.serves()
            assert (await client.post(CHAT, json=chat())).status_code == 503
            [replica] = here.gateway.pool_status("baseline")["replicas"]
            assert (replica["url"], replica["inflight"], replica["state"]) == (engine.url, 1, "draining")
            await here.delete(engine)
            gate.open()
            assert (await held.aread()).endswith(b"data: [DONE]\n\n")
        await here.gateway.eventually(lambda: not here.gateway.pool_status("baseline")["replicas"])


async def test_an_engine_that_is_killed_fails_only_what_it_had_begun(
    engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    """It stays an endpoint for a while, as one does until its node is found dead."""
    with engine_thread.engines(3) as engines, cluster(kubectl, kubeconfig) as here:
        for engine in engines:
            engine.respond = answer(WORDS, gap=0.02)
        await here.apply(*map(registration, engines))
        await here.serves(*engines)
        victim = engines[0]
        async with load(here) as callers:
            await asyncio.sleep(0.5)
            await victim.kill()
            await here.serves(*engines[1:])
            await asyncio.sleep(0.3)
            await here.delete(victim)
            await asyncio.sleep(0.3)
        assert callers.failed == []
        assert set(callers.broken) <= {victim.label}
        assert len(callers.broken) <= CALLERS
        assert len(callers.answered) > 15
        await here.gateway.assert_idle()


async def test_no_request_after_a_removal_was_told(
    engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    with engine_thread.engines(2) as (staying, going), cluster(kubectl, kubeconfig) as here:
        await here.apply(*map(registration, (staying, going)))
        await here.serves(staying, going)
        async with load(here) as callers:
            await asyncio.sleep(0.2)
            await here.delete(going)
            deleted = time.monotonic()
            await asyncio.sleep(0.5)
        assert (callers.broken, callers.failed) == ([], [])
        assert max(request.received_at for request in going.requests) < deleted + 0.2


async def test_the_api_server_is_away(
    server: ApiServer, engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    with engine_thread.engines(2) as (one, two), cluster(kubectl, kubeconfig) as here:
        await here.apply(registration(one))
        await here.serves(one)
        server.stop()
        async with load(here) as callers:
            await asyncio.sleep(1.2)
            age = here.gateway.metrics().total("spillway_discovery_age_seconds", model="fake", pool="baseline")
            assert age > 1
            assert here.gateway.metrics().total("spillway_discovery_errors_total", kind="unreachable") >= 2
            await one.kill()
            await here.serves()
            await one.restart()
            await here.serves(one)
        assert callers.answered
        server.start()
        await here.apply(registration(two))
        await here.serves(one, two)
        metrics = here.gateway.metrics()
        assert metrics.total("spillway_discovery_age_seconds", model="fake", pool="baseline") < 5


async def test_a_reload_to_another_service(engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path) -> None:
    gate = Gate()
    with engine_thread.engines(2) as (one, two), cluster(kubectl, kubeconfig) as here:
        one.respond = answer(hold=gate)
        other = registration(two, service="other")
        both = registration(one).replace(SERVICE, "other").replace(f"name: k2-{one.port}", "name: again")
        await here.apply(registration(one), other, both)
        await here.serves(one)
        async with httpx.AsyncClient(base_url=here.gateway.base_url, trust_env=False) as client:
            held = await open_stream(client)
            here.gateway.write_config(files.config(files.model(baseline=discovered("other"))))
            await here.serves(one, two)
            counts = {it["url"]: it["inflight"] for it in here.gateway.pool_status("baseline")["replicas"]}
            assert counts == {one.url: 1, two.url: 0}
            gate.open()
            assert (await held.aread()).endswith(b"data: [DONE]\n\n")


async def test_the_process_ends_promptly_while_it_watches(
    server: ApiServer, engine_thread: EngineThread, kubectl: Kubectl, kubeconfig: Path
) -> None:
    with engine_thread.engines(1) as [engine], cluster(kubectl, kubeconfig) as here:
        await here.apply(registration(engine))
        await here.serves(engine)
        await here.gateway.eventually(lambda: server.watches == 1)
        started = time.monotonic()
        here.gateway.terminate()
        assert await here.gateway.wait_exit() == 0
        assert time.monotonic() - started < 2
        assert here.gateway.stderr == []


async def test_only_what_its_role_allows_is_asked_for(
    server: ApiServer, engine_thread: EngineThread, kubectl: Kubectl, tmp_path: Path
) -> None:
    """The rights of the chart's Role are enough, and their lack is told and survived."""
    server.access.issue("weak", "system:serviceaccount:llm:spillway")
    weak = server.kubeconfig(tmp_path / "weak", token="weak", namespace=NAMESPACE)
    with engine_thread.engines(1) as [engine], cluster(kubectl, weak) as here:
        await here.apply(registration(engine))
        await here.gateway.eventually(
            lambda: here.gateway.metrics().total("spillway_discovery_errors_total", kind="forbidden")
        )
        told = [json.loads(line)["message"] for line in here.gateway.stdout if "no right to list" in line]
        assert "Role with get, list and watch on endpointslices (discovery.k8s.io)" in told[0]
        server.access.allow("system:serviceaccount:llm:spillway", NAMESPACE, "endpointslices", "get", "list", "watch")
        await here.serves(engine)
