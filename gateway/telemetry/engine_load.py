"""Metrics of what engines say they hold, where pools have `engine_load`."""

import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.models import Model
from gateway.telemetry.tables import CounterTable

_WHERE = ("model", "pool")


class EngineLoadCollector(Collector):
    """Gauges, computed from the models when scraped, and the counter of failed readings."""

    def __init__(self, models: Callable[[], Iterable[Model]], registry: CollectorRegistry) -> None:
        """Register them; `models` is asked at each scrape."""
        self._models = models
        self.errors = CounterTable(
            "spillway_engine_load_errors",
            "Readings of an engine's own load that failed, by kind.",
            (*_WHERE, "kind"),
            registry=registry,
        )
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        outside = GaugeMetricFamily(
            "spillway_outside_inflight",
            "Requests that the engines of the ready replicas hold beside the gateway's.",
            labels=_WHERE,
        )
        age = GaugeMetricFamily(
            "spillway_engine_load_age_seconds",
            "Since the ready replica that was read least recently was asked for its load.",
            labels=_WHERE,
        )
        for model in self._models():
            for role, pool in model.pools.items():
                if pool.config is None or not pool.config.engine_load.enabled:
                    continue
                outside.add_metric((model.config.name, role), pool.outside)
                read = [replica.engine_load.read_at for replica in pool.ready if replica.engine_load is not None]
                known = [at for at in read if at is not None]
                if known:
                    age.add_metric((model.config.name, role), time.monotonic() - min(known))
        return iter((outside, age))
