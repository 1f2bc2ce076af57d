"""What is rendered is what Kubernetes takes, and fits together."""

import json
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from gateway import __version__
from tests.chart.cases import CASES, STARTING
from tests.chart.helm import CHART, NAMESPACE, Object, Values, example, render, run

OLDEST, NEWEST = "1.27", "1.37"

# Kinds of other projects, which kubernetes-validate does not know.
FOREIGN = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "schemas").glob("*.json")}

EACH = pytest.mark.parametrize("values", list(CASES.values()), ids=list(CASES))


@pytest.mark.parametrize("values", [{}, *CASES.values()], ids=["defaults", *CASES])
def test_it_lints(values: Values) -> None:
    assert "0 chart(s) failed" in run("lint", "--strict", str(CHART), values=yaml.safe_dump(values))


@EACH
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_objects_are_valid(values: Values, version: str) -> None:
    for rendered in render(values, flags=["--kube-version", version]):
        if rendered["kind"] in FOREIGN:
            jsonschema.Draft202012Validator(FOREIGN[rendered["kind"]]).validate(rendered)
        else:
            assert kubernetes_validate.validate(rendered, version, strict=True) == version


def test_the_oldest_version_is_the_charts() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"] == f">={OLDEST}.0-0"


def test_the_charts_version_of_the_gateway_is_this_one() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__


@EACH
def test_names_are_unique_and_in_place(values: Values) -> None:
    rendered = render(values)
    names = [(it["kind"], it["metadata"]["namespace"], it["metadata"]["name"]) for it in rendered]
    assert len(set(names)) == len(names)
    for kind, namespace, name in names:
        assert len(name) <= 63, name
        assert kind in ("Role", "RoleBinding") or namespace == NAMESPACE


@EACH
def test_selectors_match_the_pods_that_are_meant_and_no_others(values: Values) -> None:
    rendered = render(values)
    pods = [(it["metadata"]["labels"], it["spec"]["template"]) for it in rendered.of_kind("Deployment")]
    for labels, template in pods:
        for name in ("app.kubernetes.io/component", "spillway/model", "spillway/pool"):
            assert template["metadata"]["labels"].get(name) == labels.get(name)
    for selecting in rendered:
        if (selector := _selector(selecting)) is None:
            continue
        matched = [template for _, template in pods if selector.items() <= template["metadata"]["labels"].items()]
        labels = selecting["metadata"]["labels"]
        expected = [
            template
            for of, template in pods
            if all(
                labels.get(name) in (None, of.get(name))
                for name in ("app.kubernetes.io/component", "spillway/model", "spillway/pool")
            )
        ]
        assert matched == expected, selecting["metadata"]["name"]
        assert matched


def _selector(found: Object) -> dict[str, str] | None:
    spec = found.get("spec", {})
    selector = {
        "Service": lambda: spec["selector"],
        "NetworkPolicy": lambda: spec["podSelector"]["matchLabels"],
    }.get(found["kind"], lambda: spec.get("selector", {}).get("matchLabels"))()
    assert selector is None or isinstance(selector, dict)
    return selector


@EACH
def test_ports_that_are_named_exist(values: Values) -> None:
    rendered = render(values)
    for deployment in rendered.of_kind("Deployment"):
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        probes = [container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
        assert {probe["httpGet"]["port"] for probe in probes if "httpGet" in probe} <= ports
        component = deployment["metadata"]["labels"]["app.kubernetes.io/component"]
        for service in rendered.of_kind("Service", component):
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
        for monitor in rendered.of_kind("PodMonitor", component):
            assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} <= ports


@EACH
def test_volumes_that_are_mounted_exist(values: Values) -> None:
    for workload in (*render(values).of_kind("Deployment"), *render(values).of_kind("Pod")):
        spec = workload["spec"].get("template", workload)["spec"]
        mounted = {mount["name"] for mount in spec["containers"][0].get("volumeMounts", [])}
        assert mounted == {volume["name"] for volume in spec.get("volumes", [])}


@pytest.mark.parametrize("values", list(STARTING.values()), ids=list(STARTING))
def test_a_new_chart_or_gateway_restarts_no_engine(values: Values) -> None:
    drain = {"drain": {"delay_seconds": 1, "timeout_seconds": 2}}
    changed = values | {"image": {"tag": "9.9.9"}, "commonLabels": {"new": "label"}, "config": drain}
    before, after = render(values), render(changed)
    assert _templates(before.of_kind("Deployment", "engine")) == _templates(after.of_kind("Deployment", "engine"))
    for template in _templates(before.of_kind("Deployment")):
        assert not {"helm.sh/chart", "app.kubernetes.io/version"} & set(template["metadata"]["labels"])


def test_a_new_configuration_restarts_no_gateway() -> None:
    values = example("byo-engines")
    changed = example("byo-engines") | {"config": {"log": {"level": "debug"}}}
    changed["models"][0]["policy"]["threshold"] = 7
    changed["models"][1]["pools"]["baseline"]["discovery"] = {"static": ["http://10.0.0.3:8000"]}
    before, after = render(values), render(changed)
    assert before.one("ConfigMap") != after.one("ConfigMap")
    assert before.one("Deployment") == after.one("Deployment")


def _templates(deployments: list[Object]) -> list[Object]:
    return [deployment["spec"]["template"] for deployment in deployments]


def test_pull_secrets_reach_every_pod() -> None:
    rendered = render(CASES["everything"])
    specs = [template["spec"] for template in _templates(rendered.of_kind("Deployment"))]
    specs += [pod["spec"] for pod in rendered.of_kind("Pod")]
    assert [spec["imagePullSecrets"] for spec in specs] == [[{"name": "registry"}]] * 4
