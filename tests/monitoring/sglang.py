"""SGLang's metrics page, made from the names and types recorded from its package (sglang.json)."""

import json
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

RECORDED: dict[str, str] = json.loads((Path(__file__).parent / "sglang.json").read_text())["metrics"]


class _Engine(Collector):
    def __init__(self, at: float) -> None:
        self._at = at

    def collect(self) -> list[Metric]:
        return [self._family(name, kind) for name, kind in RECORDED.items()]

    def _family(self, name: str, kind: str) -> Metric:
        labels, values = ("model_name", "tp_rank"), ("fake", "0")
        match kind:
            case "counter":
                counter = CounterMetricFamily(name.removesuffix("_total"), name, labels=labels)
                counter.add_metric(values, 100 * self._at)
                return counter
            case "gauge":
                gauge = GaugeMetricFamily(name, name, labels=labels)
                gauge.add_metric(values, self._at)
                return gauge
            case _:
                histogram = HistogramMetricFamily(name, name, labels=labels)
                seen = 10 * self._at
                histogram.add_metric(values, [("0.1", seen), ("1.0", seen), ("+Inf", seen)], seen)
                return histogram


def page(at: float) -> str:
    """The page of an engine whose gauges are all `at`, and whose counters grow with it."""
    registry = CollectorRegistry()
    registry.register(_Engine(at))
    return generate_latest(registry).decode()
