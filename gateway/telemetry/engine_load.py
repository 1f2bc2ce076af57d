"""Metrics of what engines say they hold, where pools have `engine_load`."""

import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway.models import Model
from gateway.telemetry.families.load import ENGINE_LOAD_AGE, ENGINE_LOAD_ERRORS, OUTSIDE_INFLIGHT
from gateway.telemetry.tables import CounterTable


class EngineLoadCollector(Collector):
    """Gauges, computed from the models when scraped, and the counter of failed readings."""

    def __init__(self, models: Callable[[], Iterable[Model]], registry: CollectorRegistry) -> None:
        """Register them; `models` is asked at each scrape."""
        self._models = models
        self.errors = CounterTable(*ENGINE_LOAD_ERRORS.described, registry=registry)
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        outside, age = OUTSIDE_INFLIGHT.gauge(), ENGINE_LOAD_AGE.gauge()
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
