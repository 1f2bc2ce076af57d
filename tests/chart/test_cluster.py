"""The chart is installed, upgraded and removed by real helm, and the gateway finds the engines that it names."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.chart.cases import CASES
from tests.chart.cluster import RELEASE, Cluster
from tests.chart.helm import NAMESPACE, HelmError, Values, example, render
from tests.chart.test_rendering import FOREIGN
from tests.kube.shapes import endpoint, endpoint_slice
from tests.support.gateway import gateway
from tests.support.threads import EngineThread

SPECULATIVE, BASELINE = (f"{RELEASE}-llama-3-1-8b-{role}" for role in ("speculative", "baseline"))

QUICK = {"delay_seconds": 0, "timeout_seconds": 5}


def changed(**engines: object) -> Values:
    """The example `small` with another engine image, and these values of `engines`."""
    values = example("small") | {"engines": engines}
    values["models"][0]["engine"]["image"]["tag"] = "v0.5.24"
    return values


def image(cluster: Cluster, deployment: str) -> str:
    """The engine's image that a Deployment asks for now."""
    found = cluster.get("deployment", deployment)["spec"]["template"]["spec"]["containers"][0]["image"]
    assert isinstance(found, str)
    return found


def paused(cluster: Cluster) -> set[str]:
    """The pools that keep what runs."""
    return {name for name in (SPECULATIVE, BASELINE) if cluster.get("deployment", name)["spec"]["paused"]}


def test_it_is_installed_upgraded_and_removed(cluster: Cluster) -> None:
    before = cluster.names()
    cluster.install(example("small"))
    hooks = {"Pod"}
    expected = {
        (it["kind"], it["metadata"]["name"].replace("rel-spillway", RELEASE)) for it in render(example("small"))
    }
    assert cluster.names() - before == {(kind, name) for kind, name in expected if kind not in hooks}
    cluster.upgrade(example("small") | {"config": {"log": {"level": "debug"}}})
    assert "level: debug" in cluster.get("configmap", RELEASE)["data"]["spillway.yaml"]
    cluster.helm("uninstall", RELEASE)
    assert cluster.names() == before


@pytest.mark.parametrize("values", list(CASES.values()), ids=list(CASES))
def test_kubectl_applies_it(cluster: Cluster, values: Values) -> None:
    objects = [it for it in render(values) if it["kind"] not in FOREIGN]
    for namespace in {it["metadata"]["namespace"] for it in objects} - {"default", "llm"}:
        cluster.kubectl("create", "namespace", namespace)
    text = yaml.safe_dump_all(objects)
    said = cluster.kubectl("apply", "--server-side", "--validate=false", "--filename=-", stdin=text)
    assert said.count("serverside-applied") == len(objects)


@pytest.fixture
def serving(cluster: Cluster) -> Cluster:
    """The example `small`, installed, with an engine that serves in each pool."""
    cluster.install(example("small"))
    for deployment in (SPECULATIVE, BASELINE):
        cluster.make_available(deployment, 1)
    return cluster


def test_an_upgrade_that_would_stop_all_engines_is_refused(serving: Cluster) -> None:
    with pytest.raises(HelmError) as refused:
        serving.upgrade(changed())
    said = str(refused.value)
    assert "would stop every engine of llama-3.1-8b at once (baseline, speculative)" in said
    assert "--set engines.rollout=baseline" in said
    assert image(serving, BASELINE) == "spillway-sglang:0.1.0-sglang0.5.23"


def test_upgrades_that_leave_an_engine_are_not_refused(serving: Cluster) -> None:
    serving.upgrade(example("small") | {"config": {"log": {"level": "debug"}}})
    surging = changed()
    surging["models"][0]["pools"]["speculative"]["maxSurge"] = 1
    serving.upgrade(surging, "--dry-run=server")
    serving.make_available(BASELINE, 2)
    serving.upgrade(changed(), "--dry-run=server")


def test_an_outage_can_be_accepted(serving: Cluster) -> None:
    serving.upgrade(changed(allowOutage=True))
    assert image(serving, BASELINE) == "spillway-sglang:v0.5.24"


def test_engines_that_do_not_start_can_be_mended(cluster: Cluster) -> None:
    cluster.install(example("small"))
    cluster.upgrade(changed())
    assert image(cluster, BASELINE) == "spillway-sglang:v0.5.24"


def test_pools_roll_one_after_the_other(serving: Cluster) -> None:
    serving.upgrade(changed(rollout="baseline"))
    assert paused(serving) == {SPECULATIVE}
    serving.make_available(SPECULATIVE, 1, updated=False)

    # The baseline pool loads: the other must wait for it.
    serving.make_available(BASELINE, 0)
    for values in (changed(rollout="speculative"), changed()):
        with pytest.raises(HelmError, match=r"at once \(speculative\)"):
            serving.upgrade(values)

    serving.make_available(BASELINE, 1)
    serving.upgrade(changed(rollout="speculative"))
    assert paused(serving) == {BASELINE}

    # That neither pool is held back any more restarts nothing, so it need not wait for the speculative pool.
    serving.make_available(SPECULATIVE, 0)
    serving.upgrade(changed())
    assert paused(serving) == set()
    for deployment in (SPECULATIVE, BASELINE):
        assert image(serving, deployment) == "spillway-sglang:v0.5.24"


def test_the_gateway_finds_its_engines_with_the_rights_of_its_role(
    cluster: Cluster, engine_thread: EngineThread, tmp_path: Path
) -> None:
    cluster.install(example("small"))
    account = cluster.kubectl(
        "get", "deployment", RELEASE, "--output=jsonpath={.spec.template.spec.serviceAccountName}"
    )
    [subject] = cluster.get("rolebinding", RELEASE)["subjects"]
    assert subject["name"] == account
    for rule in cluster.get("role", RELEASE)["rules"]:
        for resource in rule["resources"]:
            cluster.server.access.allow(account, NAMESPACE, resource, *rule["verbs"])
    cluster.server.access.issue("token-of-the-pod", account)
    kubeconfig = cluster.server.kubeconfig(tmp_path / "pod", token="token-of-the-pod")

    def write(path: Path, settings: dict[str, Any] | str) -> None:
        assert isinstance(settings, dict)
        file = yaml.safe_load(cluster.get("configmap", RELEASE)["data"]["spillway.yaml"])
        here = {"host": "127.0.0.1", "port": 0}
        path.write_text(yaml.safe_dump(file | {"listen": settings["listen"], "admin": here, "drain": QUICK}))

    with (
        engine_thread.engines(2) as engines,
        gateway({}, "/health", env={"KUBECONFIG": str(kubeconfig)}, write=write) as here,
    ):
        assert here.get("/ready").status_code == 503
        for service, engine in zip((SPECULATIVE, BASELINE), engines, strict=True):
            assert cluster.get("service", service)["spec"]["ports"][0]["name"] == "http"
            port = {"name": "http", "port": engine.port, "protocol": "TCP"}
            cluster.server.put(endpoint_slice(f"{service}-x", [endpoint("127.0.0.1")], service=service, ports=[port]))
        here.wait_up("/ready")
        body = {"model": "llama", "messages": [{"role": "user", "content": "Say hello."}]}
        answer = httpx.post(f"{here.base_url}/v1/chat/completions", json=body, trust_env=False)
        assert answer.status_code == 200
        assert answer.headers["x-spillway-replica"] == engines[0].label
