"""What the sharing of counts costs and how it stands; exposed only where `redis` is configured."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.models import Model
from gateway.telemetry.tables import HistogramTable

_WAIT = (0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)


class SharedCountsCollector(Collector):
    """Gauges and counters of all models' links. `failures` counts by model and kind."""

    def __init__(self, models: Callable[[], Iterable[Model]], registry: CollectorRegistry) -> None:
        """`models` is asked at each scrape."""
        self.failures: Mapping[tuple[str, str], int] = {}
        self._models = models
        self._waits = HistogramTable(
            "spillway_redis_wait_seconds",
            "What a request waited for Redis to decide, answered or given up.",
            ("model",),
            _WAIT,
            registry=registry,
        )
        registry.register(self)

    def waited(self, model: str, seconds: float) -> None:
        """A request had its answer after so long."""
        self._waits.observe((model,), seconds)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        up = GaugeMetricFamily(
            "spillway_redis_up", "1 while Redis decides, 0 while the gateway does with its share.", labels=("model",)
        )
        gateways = GaugeMetricFamily(
            "spillway_gateways", "Gateways that share the model's counts, as last told.", labels=("model",)
        )
        shared = GaugeMetricFamily(
            "spillway_shared_inflight",
            "Requests in flight over all gateways, as of the last heartbeat; the same from each.",
            labels=("model", "pool"),
        )
        alone = CounterMetricFamily(
            "spillway_local_decisions", "Decisions that the gateway took because Redis did not.", labels=("model",)
        )
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
        failures = CounterMetricFamily(
            "spillway_redis_failures",
            "Times that Redis failed the gateway, by kind: timeout, connection, error.",
            labels=("model", "kind"),
        )
        for labels, count in self.failures.items():
            failures.add_metric(labels, count)
        return iter((up, gateways, shared, alone, failures))
