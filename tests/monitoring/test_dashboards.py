"""The dashboards of the chart: up to date, whole, and made for any data source and model."""

import json
import re
from collections import Counter
from itertools import pairwise

import pytest

from dashboards import ALL, FOLDER, Dashboard, rendered
from dashboards.grafana import SCHEMA_VERSION
from dashboards.reasons import CHOSEN, GROUPS
from gateway.routing import Reason
from gateway.telemetry import FAMILIES

# The panel Configuration has the outcome of the last one.
UNSEEN = {"spillway_config_reloads_total"}
EACH = pytest.mark.parametrize("board", ALL, ids=[board.name for board in ALL])


def test_the_chart_has_them_as_they_are_written() -> None:
    there = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert there == rendered(), "run `python -m dashboards`"


@EACH
def test_panels_fill_the_grid_without_overlapping(board: Dashboard) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board.model()["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        taken |= cells
    numbers = [panel["id"] for panel in board.model()["panels"]]
    assert all(after == before + 1 for before, after in pairwise(numbers))


@EACH
def test_nothing_is_tied_to_one_data_source_or_model(board: Dashboard) -> None:
    text = rendered()[f"{board.name}.json"]
    assert set(re.findall(r'"uid": "([^"]*)"', text)) == {f"spillway-{board.name}", "${datasource}"}
    variables = {it["name"] for it in board.model()["templating"]["list"]}
    used = set(re.findall(r"\$\{?(?!__)([a-z]\w*)", text))
    assert used == variables == {"datasource", "model"}
    assert json.loads(text)["schemaVersion"] == SCHEMA_VERSION


@EACH
def test_each_panel_says_what_it_is(board: Dashboard) -> None:
    titles = [panel.title for panel in board.panels]
    assert len(titles) == len(set(titles))
    for panel in board.panels:
        assert panel.about.endswith(".")
        assert panel.queries
        assert all(query.legend for query in panel.queries)


def test_every_reason_is_accounted_for() -> None:
    """A new one has to be given its meaning, in dashboards/reasons.py, and is then on a panel by it."""
    grouped = Counter(reason for group in GROUPS for reason in group.reasons)
    assert grouped == Counter(Reason)
    assert set(CHOSEN.reasons) < set(Reason)
    exprs = [query.expr for board in ALL for panel in board.panels for query in panel.queries]
    for group in GROUPS:
        assert any(group.matcher in expr for expr in exprs), f"{group.about} is on no panel"
    named = {
        reason for expr in exprs for found in re.findall(r'reason=~?"([^"]*)"', expr) for reason in found.split("|")
    }
    assert named == set(Reason)


def test_panels_show_every_metric_of_requests() -> None:
    """What a panel names exists, and what the gateway measures can be seen, but for what needs no panel."""
    exprs = " ".join(query.expr for board in ALL for panel in board.panels for query in panel.queries)
    used = {re.sub(r"_bucket$", "", name) for name in re.findall(r"\b(?:spillway|process)_\w+", exprs)}
    assert used - {"spillway_model", "spillway_pool"} <= FAMILIES.keys()
    missing = {name for name in FAMILIES if name.startswith("spillway_")} - used
    assert missing == UNSEEN
