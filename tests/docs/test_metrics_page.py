"""docs/metrics.md is made of the declared metrics, and these are what a gateway exposes with all of its features on."""

import asyncio
import re
from collections.abc import Iterator
from itertools import pairwise

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gateway.telemetry import FAMILIES, Family
from gateway.telemetry.reference import reference
from tests.docs.markdown import REPOSITORY
from tests.kube.apiserver import ApiServer
from tests.kube.apiserver.errors import StatusError
from tests.support.behaviours import AFTER_FIRST_BYTE, End, answer, fail, play
from tests.support.config import config, model
from tests.support.redis import redis_server, section
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread

CURVES = {
    "speculative": [{"inflight": 1, "rate": 90}, {"inflight": 8, "rate": 20}],
    "baseline": [{"inflight": 1, "rate": 60}, {"inflight": 8, "rate": 30}],
}


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway with static pools, and one that it looks for in a cluster; Redis and the API server fail at first."""
    with ApiServer(tls=True) as server, pytest.MonkeyPatch.context() as patch, redis_server(started=False) as redis:
        server.faults.refuse(StatusError(503, "ServiceUnavailable", "starting"), times=3)
        patch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path_factory.mktemp("kube") / "config", namespace="llm")))
        baseline = {"discovery": {"kubernetes": {"service": "engines"}}}
        found = model(baseline=baseline, name="found", policy={"kind": "adaptive", "curves": CURVES})
        with site(
            engine_thread,
            settings=lambda fast, plain: config(
                fake_model(fast, plain, {"engine_load": {"enabled": True}}, policy={"mode": "switch"}),
                found,
                redis=section(redis),
            ),
            wait_for="/health",
        ) as running:
            redis.start()
            yield running


async def seen(here: Site) -> dict[str, Metric]:
    """The metrics after requests that ended in every way that has a metric of its own."""
    first = here.speculative[0]
    await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["ready"] == 1)
    # The baseline pool's engine has no such page, which makes for failures.
    first.metrics = "llamacpp:requests_processing 0\n"
    samples = [f"spillway_{name}{{" for name in ("discovery_errors_total", "engine_load_errors_total")]
    samples += [f"spillway_{name}{{" for name in ("engine_load_age_seconds", "shared_inflight", "redis_failures_total")]
    await here.gateway.eventually(lambda: all(sample in here.gateway.get("/metrics").text for sample in samples), 10.0)
    async with here.client() as client:
        await client.post(CHAT, json=chat(stream=True))
        first.script.append(fail(503))
        await client.post(CHAT, json=chat())
        first.script.append(AFTER_FIRST_BYTE["close after an event"])
        await client.post(CHAT, json=chat(stream=True))
        first.script.append(play(End.HANG))
        with pytest.raises(httpx.ReadTimeout):
            await client.post(CHAT, json=chat(), timeout=0.3)
    await here.gateway.eventually(lambda: here.gateway.metrics().total("spillway_cancelled_total") == 1)
    families = text_string_to_metric_families((await asyncio.to_thread(here.gateway.get, "/metrics")).text)
    return {f"{family.name}_total" if family.type == "counter" else family.name: family for family in families}


def test_the_page_is_up_to_date() -> None:
    page = (REPOSITORY / "docs" / "metrics.md").read_text()
    assert page == reference(), "run: python -m gateway.telemetry.reference > docs/metrics.md"


async def test_a_gateway_exposes_what_is_declared(here: Site) -> None:
    here.respond(answer())
    live = await seen(here)
    assert live.keys() == FAMILIES.keys()
    for name, family in live.items():
        declared = FAMILIES[name]
        assert family.samples, name
        assert family.type == declared.kind, name
        if name.startswith("spillway_"):
            assert family.documentation == declared.about, name
        closed = {label.name: set(label.values) for label in declared.labels if label.values}
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == set(declared.names), name
            assert all(sample.labels[label] in values for label, values in closed.items()), sample
        bounds = {float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels}
        assert bounds == ({*declared.bounds, float("inf")} if declared.bounds else set()), name


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_name_says_type_and_unit(family: Family) -> None:
    """https://prometheus.io/docs/practices/naming/"""
    assert family.name.endswith("_total") == (family.kind == "counter")
    assert (family.unit in ("seconds", "bytes")) == bool(re.search("_(seconds|bytes)(_total)?$", family.name))
    assert family.unit
    assert family.about.endswith(".")
    assert bool(family.bounds) == (family.kind == "histogram")


def test_buckets_fit_what_models_do() -> None:
    """Seconds: from what a warm small engine does to what a full queue of long prompts does."""
    for name, least, most in (("ttft", 0.005, 120), ("inter_token", 0.001, 2)):
        bounds = FAMILIES[f"spillway_{name}_seconds"].bounds
        assert (bounds[0], bounds[-1]) == (least, most)
        assert all(after <= 2.5 * before for before, after in pairwise(bounds))
