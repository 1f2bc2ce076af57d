"""Scraping, alerts and dashboards."""

import json
import re
import shutil
from pathlib import Path

import pytest

from gateway.telemetry import FAMILIES
from tests.chart.cases import CASES
from tests.chart.helm import CHART, REPOSITORY, example, render
from tests.monitoring.alerts import RULES, filled_in

METRIC = re.compile(r"\b((?:spillway|process)_\w+|sglang:\w+)(?=[{\[) ]|$)")


def _known() -> set[str]:
    theirs = json.loads((REPOSITORY / "tests" / "monitoring" / "sglang.json").read_text())["metrics"]
    known = {**{name: family.kind for name, family in FAMILIES.items()}, **theirs}
    return {*known, *(f"{name}_bucket" for name, kind in known.items() if kind == "histogram")}


KNOWN = _known()
ENGINE_LABELS = {"spillway_model", "spillway_pool"}


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_alerts_are_on_metrics_that_exist(rule: dict[str, str]) -> None:
    used = set(METRIC.findall(rule["expr"])) - ENGINE_LABELS
    assert used
    assert used <= KNOWN
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    # What the texts name is left by the aggregation.
    [kept, *_] = re.findall(r"by \(([^)]*)\)", rule["expr"])
    labels = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    assert labels <= set(kept.split(", "))


def test_scaling_is_on_metrics_that_exist() -> None:
    query = render(CASES["everything"]).one("ScaledObject")["spec"]["triggers"][0]["metadata"]["query"]
    assert set(METRIC.findall(query)) <= KNOWN


def test_each_alert_has_its_place_in_the_runbook() -> None:
    headings = re.findall(r"^## (Spillway\w+)$", (REPOSITORY / "docs" / "runbook.md").read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_the_values_reach_the_alerts() -> None:
    groups = render(CASES["everything"]).one("PrometheusRule")["spec"]["groups"]
    assert groups == filled_in(errorBudget=0.002, ttftSeconds=2.5, runbook="https://runbooks.example/spillway")
    assert not re.search("ERROR_BUDGET|TTFT_SECONDS|RUNBOOK", json.dumps(groups))


def test_the_rule_is_found_by_its_labels() -> None:
    assert render(CASES["everything"]).one("PrometheusRule")["metadata"]["labels"]["release"] == "prometheus"
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
