"""What the policy `adaptive` has learned and decides; exposed only for models that have it."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import get_args

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway.models import Model, crossover
from gateway.routing import NODES, ROLES, Curve, Mode
from gateway.telemetry.families.labels import BANDS
from gateway.telemetry.families.load import (
    ADAPTIVE_CROSSOVER,
    ADAPTIVE_DECISIONS,
    ADAPTIVE_EVIDENCE_GATEWAYS,
    ADAPTIVE_EXPECTED,
    ADAPTIVE_OBSERVATIONS,
    ADAPTIVE_RATE,
)

# Requests near a count from which on the curve is more than a guess there.
_KNOWN = 0.5


class AdaptiveCollector(Collector):
    """Asks the models at each scrape."""

    def __init__(self, models: Callable[[], Iterable[Model]], registry: CollectorRegistry) -> None:
        """`models` is asked at each scrape."""
        self._models = models
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        decisions, observed = ADAPTIVE_DECISIONS.counter(), ADAPTIVE_OBSERVATIONS.counter()
        crossing, expected, learned = ADAPTIVE_CROSSOVER.gauge(), ADAPTIVE_EXPECTED.gauge(), ADAPTIVE_RATE.gauge()
        gateways = ADAPTIVE_EVIDENCE_GATEWAYS.gauge()
        for model in self._models():
            adapting, name = model.adapting, model.config.name
            if adapting is None:
                continue
            if model.evidence is not None:
                gateways.add_metric((name,), model.evidence.gateways)
            now = time.monotonic()
            for mode in get_args(Mode):
                decisions.add_metric((name, mode), adapting.modes[mode])
            node = crossover(adapting, now)
            crossing.add_metric((name,), float("inf") if node is None else node)
            curves = adapting.learning.curves(now)
            rates = adapting.last.expected if adapting.last else (0.0, 0.0)
            for role, curve, rate in zip(ROLES, curves, rates, strict=True):
                observed.add_metric((name, role), adapting.learning.pools[role].observed)
                expected.add_metric((name, role), rate)
                for band, known in _known(curve):
                    learned.add_metric((name, role, band), known)
        return iter((decisions, crossing, expected, learned, observed, gateways))


def _known(curve: Curve) -> Iterator[tuple[str, float]]:
    """The rate at the most requests of each band, as far as the curve has been seen."""
    seen = max((node for node, known in zip(NODES, curve.known, strict=True) if known >= _KNOWN), default=0)
    for power, band in enumerate(BANDS[:-1]):
        if seen > (1 << power) // 2:
            yield band, curve.rate(1 << power)
