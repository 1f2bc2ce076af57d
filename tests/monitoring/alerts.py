"""The chart's alerts with their values filled in, and quick ones that need no hours."""

import re
from typing import Any

import yaml

from tests.chart.helm import CHART

Group = dict[str, Any]
Rule = dict[str, Any]

_VALUES = yaml.safe_load((CHART / "values.yaml").read_text())["monitoring"]["prometheusRule"]
_WORDS = {"ERROR_BUDGET": "errorBudget", "TTFT_SECONDS": "ttftSeconds", "RUNBOOK": "runbook"}
# For the quick ones: what is compared with the past needs some.
_PAST = {"1d": "60s"}


def filled_in(**values: Any) -> list[Group]:
    """The groups as the chart makes them of these values, and of its own for the others."""
    text = (CHART / "files" / "alerts.yaml").read_text()
    for word, name in _WORDS.items():
        text = text.replace(word, str({**_VALUES, **values}[name]))
    groups = yaml.safe_load(text)["groups"]
    assert isinstance(groups, list)
    return groups


GROUPS = filled_in()
RULES: list[Rule] = [rule for group in GROUPS for rule in group["rules"]]


def quick() -> list[Group]:
    """The same over six seconds, and without a wait; the bound on TTFT is 0.5 s."""
    return [
        {**group, "rules": [{**rule, "expr": _quick(rule["expr"]), "for": "0s"} for rule in group["rules"]]}
        for group in filled_in(ttftSeconds=0.5)
    ]


def _quick(expr: str) -> str:
    return re.sub(r"\[(\w+)(:\w+)?\]", lambda it: f"[{_PAST.get(it[1], '6s')}{':1s' if it[2] else ''}]", expr)
