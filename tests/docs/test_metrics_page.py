"""docs/metrics.md names the metrics that a gateway exposes, with their types and labels, and no others."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.docs.markdown import REPOSITORY, codes, tables
from tests.kube.apiserver import ApiServer
from tests.kube.apiserver.errors import StatusError
from tests.support.behaviours import AFTER_FIRST_BYTE, End, answer, fail, play
from tests.support.config import config, model
from tests.support.redis import redis_server, section
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread


class Described(NamedTuple):
    """A metric's type and labels."""

    kind: str
    labels: frozenset[str]


# Labels that say nothing of their own: a histogram's buckets.
PARTS = {"le"}


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway with static pools, and one that it looks for in a cluster; Redis and the API server fail at first."""
    with ApiServer(tls=True) as server, pytest.MonkeyPatch.context() as patch, redis_server(started=False) as redis:
        server.faults.refuse(StatusError(503, "ServiceUnavailable", "starting"), times=3)
        patch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path_factory.mktemp("kube") / "config", namespace="llm")))
        found = model(
            baseline={"discovery": {"kubernetes": {"service": "engines"}}}, name="found", policy={"kind": "adaptive"}
        )
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


async def seen(here: Site) -> dict[str, Described]:
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
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: Described(
            family.type, frozenset(label for sample in family.samples for label in sample.labels) - PARTS
        )
        for family in families
    }


def documented() -> dict[str, Described]:
    rows = [row for table in tables(REPOSITORY / "docs" / "metrics.md") for row in table]
    return {
        name: Described(row["type"], frozenset(codes(row["labels"]))) for row in rows for name in codes(row["metric"])
    }


async def test_the_page_and_the_gateway_agree(here: Site) -> None:
    here.respond(answer())
    assert documented() == await seen(here)
