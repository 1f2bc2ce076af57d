"""Scraping, alerts and dashboards."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from prometheus_client import generate_latest

from gateway.telemetry import LoadCollector, Metrics
from tests.chart.cases import CASES
from tests.chart.helm import CHART, example, render

GROUPS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
METRIC = re.compile(r"\b((?:spillway|process)_\w+)")


def _known() -> set[str]:
    metrics = Metrics()
    metrics.registry.register(LoadCollector(lambda: (), lambda: 0, lambda _: 0))
    return set(re.findall(r"^# TYPE (\w+)", generate_latest(metrics.registry).decode(), re.MULTILINE))


KNOWN = _known()


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_alerts_are_on_metrics_that_exist(rule: dict[str, str]) -> None:
    used = set(METRIC.findall(rule["expr"]))
    assert used
    assert used <= KNOWN
    assert set(rule["annotations"]) == {"summary", "description"}
    # What the texts name is left by the aggregation.
    [kept, *_] = re.findall(r"by \(([^)]*)\)", rule["expr"])
    labels = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    assert labels <= set(kept.split(", "))


def test_scaling_is_on_metrics_that_exist() -> None:
    query = render(CASES["everything"]).one("ScaledObject")["spec"]["triggers"][0]["metadata"]["query"]
    assert set(METRIC.findall(query)) <= KNOWN


def test_alerts_reach_the_rule_unchanged() -> None:
    rule = render(CASES["everything"]).one("PrometheusRule")
    assert rule["spec"]["groups"] == GROUPS
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    assert not render(example("small")).of_kind("PrometheusRule")


def test_gateways_and_engines_are_scraped() -> None:
    gateways, engines = (render(CASES["everything"]).one("PodMonitor", it)["spec"] for it in ("gateway", "engine"))
    assert gateways["podMetricsEndpoints"] == [{"port": "admin", "path": "/metrics", "interval": "30s"}]
    assert engines["podMetricsEndpoints"] == [{"port": "http", "path": "/metrics", "interval": "30s"}]
    assert engines["podTargetLabels"] == ["spillway/model", "spillway/pool"]
    assert len(render(CASES["static only"]).of_kind("PodMonitor")) == 1


def test_each_dashboard_becomes_a_config_map(tmp_path: Path) -> None:
    chart = tmp_path / "spillway"
    shutil.copytree(CHART, chart)
    shutil.rmtree(chart / "dashboards", ignore_errors=True)
    (chart / "dashboards").mkdir()
    dashboard = {"title": "Pools", "panels": [{"targets": [{"legendFormat": "{{pool}} of {{ model }}"}]}]}
    for name in ("pools", "gateway"):
        (chart / "dashboards" / f"{name}.json").write_text(json.dumps(dashboard, indent=2))
    rendered = render(CASES["everything"], chart=chart)
    found = {it["metadata"]["name"]: it for it in rendered.of_kind("ConfigMap", "dashboard")}
    assert set(found) == {"rel-spillway-gateway", "rel-spillway-pools"}
    pools = found["rel-spillway-pools"]
    assert json.loads(pools["data"]["pools.json"]) == dashboard
    assert pools["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert pools["metadata"]["annotations"] == {"grafana_folder": "LLM"}
    assert not render(example("small"), chart=chart).of_kind("ConfigMap", "dashboard")
