"""What the sharing of counts costs and how it stands; exposed only where `redis` is configured."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway.models import Model
from gateway.telemetry.families.load import (
    GATEWAYS,
    LOCAL_DECISIONS,
    REDIS_FAILURES,
    REDIS_UP,
    REDIS_WAIT,
    SHARED_INFLIGHT,
)
from gateway.telemetry.tables import HistogramTable


class SharedCountsCollector(Collector):
    """Gauges and counters of all models' links. `failures` counts by model and kind."""

    def __init__(self, models: Callable[[], Iterable[Model]], registry: CollectorRegistry) -> None:
        """`models` is asked at each scrape."""
        self.failures: Mapping[tuple[str, str], int] = {}
        self._models = models
        self._waits = HistogramTable(*REDIS_WAIT.described, REDIS_WAIT.bounds, registry=registry)
        registry.register(self)

    def waited(self, model: str, seconds: float) -> None:
        """A request had its answer after so long."""
        self._waits.observe((model,), seconds)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        up, gateways, shared = REDIS_UP.gauge(), GATEWAYS.gauge(), SHARED_INFLIGHT.gauge()
        alone, failures = LOCAL_DECISIONS.counter(), REDIS_FAILURES.counter()
        for model in self._models():
            sharing, name = model.sharing, (model.config.name,)
            if sharing is None:
                continue
            up.add_metric(name, int(sharing.link.state == "up"))
            gateways.add_metric(name, sharing.link.gateways)
            alone.add_metric(name, sharing.local_decisions)
            for role, pool in model.pools.items():
                if pool.config is not None and sharing.link.decides:
                    shared.add_metric((*name, role), pool.inflight + pool.elsewhere)
        for labels, count in self.failures.items():
            failures.add_metric(labels, count)
        return iter((up, gateways, shared, alone, failures))
