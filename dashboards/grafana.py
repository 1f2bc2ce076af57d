"""Grafana's dashboard model, as far as these dashboards need it.

The shapes are those of `@grafana/schema`; tests/dashboards/ checks the JSON against its types for Grafana 10 and 13.
Grafana migrates a dashboard from its `schemaVersion` up to its own, never down: 36 is that of Grafana 10's schema.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

Json = dict[str, Any]
Kind = Literal["timeseries", "stat", "bargauge"]

SCHEMA_VERSION = 36
_SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24
# By what a series' legend begins with: the same thing has the same colour on every panel.
_COLOURS = {"speculative": "green", "baseline": "blue", "limit": "red", "none": "text"}


@dataclass(frozen=True)
class Query:
    """A PromQL expression; `legend` names its series with {{label}}.

    An instant one is evaluated at the range's end. With `exemplars`, traces are shown as points on it.
    """

    expr: str
    legend: str
    instant: bool = False
    exemplars: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel. `line`: a value drawn across it. `stack`: series lie upon each other, as shares if it is "percent"."""

    title: str
    about: str
    queries: Sequence[Query]
    unit: str = "short"
    kind: Kind = "timeseries"
    width: int = 12
    stack: Literal["none", "normal", "percent"] = "none"
    line: float | None = None
    # From which value on a stat is yellow, and red.
    bounds: tuple[float, float] | None = None
    decimals: int | None = None

    @property
    def height(self) -> int:
        """In rows of Grafana's grid."""
        return 4 if self.kind == "stat" else 8

    def model(self, number: int, x: int, y: int) -> Json:
        """The panel's JSON."""
        defaults: Json = {"unit": self.unit, "color": {"mode": "palette-classic"}}
        if self.decimals is not None:
            defaults["decimals"] = self.decimals
        if self.kind == "timeseries":
            defaults |= {"min": 0, "custom": self._lines()}
        else:
            defaults["noValue"] = "no data"
        if self.kind == "stat":
            defaults["color"] = {"mode": "thresholds"}
        defaults["thresholds"] = {"mode": "absolute", "steps": self._steps()}
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "datasource": _SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "fieldConfig": {"defaults": defaults, "overrides": self._overrides()},
            "options": self._options(),
            "targets": [_target(query, chr(ord("A") + at)) for at, query in enumerate(self.queries)],
        }

    def _lines(self) -> Json:
        return {
            "drawStyle": "line",
            "lineInterpolation": "linear",
            "lineWidth": 1,
            "fillOpacity": 10 if self.stack == "none" else 40,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": self.stack, "group": "A"},
            "thresholdsStyle": {"mode": "off" if self.line is None else "dashed"},
        }

    def _steps(self) -> list[Json]:
        if self.line is not None:
            return [{"color": "transparent", "value": None}, {"color": "orange", "value": self.line}]
        if self.bounds is not None:
            colours = zip(("green", "yellow", "red"), (None, *self.bounds), strict=True)
            return [{"color": colour, "value": value} for colour, value in colours]
        return [{"color": "blue" if self.kind == "stat" else "green", "value": None}]

    def _overrides(self) -> list[Json]:
        if self.kind == "stat":
            return []
        overrides = []
        legends = {query.legend for query in self.queries}
        for start, colour in _COLOURS.items():
            drawn = start == "limit" or bool(legends & {"{{pool}}", "{{spillway_pool}}"})
            if not drawn or (start == "limit" and not any(legend.startswith(start) for legend in legends)):
                continue
            properties: list[Json] = [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}]
            if start == "limit":
                properties += [
                    {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 6]}},
                    {"id": "custom.fillOpacity", "value": 0},
                    {"id": "custom.lineWidth", "value": 2},
                ]
            overrides.append({"matcher": {"id": "byRegexp", "options": f"/^{start}( |$)/"}, "properties": properties})
        return overrides

    def _options(self) -> Json:
        if self.kind == "timeseries":
            return {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        options: Json = {
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }
        if self.kind == "stat":
            return {**options, "colorMode": "value", "graphMode": "area", "justifyMode": "auto", "textMode": "auto"}
        return {
            **options,
            "orientation": "horizontal",
            "displayMode": "basic",
            "valueMode": "color",
            "showUnfilled": True,
        }


@dataclass(frozen=True)
class Row:
    """Panels under a heading, from left to right, in as many lines as they need."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Dashboard:
    """`name` is the file's and the end of the uid. `models` is the query for the values of the variable `model`."""

    name: str
    title: str
    about: str
    models: str
    rows: Sequence[Row]
    links: Sequence[str] = field(default=("overview", "speculation", "engines", "gateway"))

    @property
    def panels(self) -> list[Panel]:
        """All of them."""
        return [panel for row in self.rows for panel in row.panels]

    def model(self) -> Json:
        """The dashboard's JSON."""
        return {
            "uid": f"spillway-{self.name}",
            "title": self.title,
            "description": self.about,
            "tags": ["spillway"],
            "schemaVersion": SCHEMA_VERSION,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "10s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "browser",
            "annotations": {"list": []},
            "links": [_link()],
            "templating": {"list": [_data_source(), _models(self.models)]},
            "panels": self._placed(),
        }

    def _placed(self) -> list[Json]:
        numbers, placed, y = count(1), [], 0
        for row in self.rows:
            placed.append(
                {
                    "id": next(numbers),
                    "type": "row",
                    "title": row.title,
                    "collapsed": False,
                    "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": 1},
                    "panels": [],
                }
            )
            y, x, tallest = y + 1, 0, 0
            for panel in row.panels:
                if x + panel.width > _COLUMNS:
                    y, x, tallest = y + tallest, 0, 0
                placed.append(panel.model(next(numbers), x, y))
                x, tallest = x + panel.width, max(tallest, panel.height)
            y += tallest
        return placed


def _target(query: Query, ref: str) -> Json:
    return {
        "refId": ref,
        "datasource": _SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend,
        "instant": query.instant,
        "range": not query.instant,
        "exemplar": query.exemplars,
        "editorMode": "code",
    }


def _link() -> Json:
    return {
        "type": "dashboards",
        "title": "Spillway",
        "tags": ["spillway"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }


def _data_source() -> Json:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}


def _models(query: str) -> Json:
    return {
        "name": "model",
        "label": "Model",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "models"},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "hide": 0,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }
