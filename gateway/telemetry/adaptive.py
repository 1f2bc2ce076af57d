"""What the policy `adaptive` decides, and by what; exposed only for models that have it."""

import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.models import Model, crossover
from gateway.routing import ROLES

_MODES = ("adaptive", "exploring", "no_evidence", "stale", "contradicting", "one_pool")


class AdaptiveCollector(Collector):
    """Asks the models at each scrape."""

    def __init__(self, models: Callable[[], Iterable[Model]], registry: CollectorRegistry) -> None:
        """`models` is asked at each scrape."""
        self._models = models
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        decisions = CounterMetricFamily(
            "spillway_adaptive_decisions",
            "Placements by how they were decided: adaptive, exploring, or by the threshold because of no_evidence, "
            "stale or contradicting evidence, or one_pool.",
            labels=("model", "mode"),
        )
        crossing = GaugeMetricFamily(
            "spillway_adaptive_crossover",
            "Requests on a speculative replica from which on the next is worth more elsewhere; +Inf: none known.",
            labels=("model",),
        )
        expected = GaugeMetricFamily(
            "spillway_adaptive_expected_tokens_per_second",
            "What the latest request was expected to get in each pool.",
            labels=("model", "pool"),
        )
        observed = CounterMetricFamily(
            "spillway_adaptive_observations", "Requests that a pool's curve was learned from.", labels=("model", "pool")
        )
        for model in self._models():
            adapting, name = model.adapting, model.config.name
            if adapting is None:
                continue
            now = time.monotonic()
            for mode in _MODES:
                decisions.add_metric((name, mode), adapting.modes[mode])
            node = crossover(adapting, now)
            crossing.add_metric((name,), float("inf") if node is None else node)
            curves = adapting.learning.curves(now)
            rates = adapting.last.expected if adapting.last else (0.0, 0.0)
            for role, curve, rate in zip(ROLES, curves, rates, strict=True):
                observed.add_metric((name, role), curve.requests)
                expected.add_metric((name, role), rate)
        return iter((decisions, crossing, expected, observed))
