"""Prometheus metrics. Counters and histograms are fed once a request; gauges are read when scraped."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from gateway import __version__
from gateway.models import Model
from gateway.pools import Replica
from gateway.telemetry.families.labels import NONE
from gateway.telemetry.families.load import (
    DISCOVERY_AGE,
    DISCOVERY_ERRORS,
    INFLIGHT,
    POOL_LIMIT,
    QUEUE_DEPTH,
    READY_REPLICAS,
    REPLICA_INFLIGHT,
    REPLICA_READS,
    SWITCH_HIGH,
)
from gateway.telemetry.families.process import BUILD, CONFIG_VALID, LINES_DROPPED, OVERHEAD, RELOADS
from gateway.telemetry.families.requests import (
    BROKEN,
    CANCELLED,
    DECISIONS,
    DURATION,
    INTER_TOKEN,
    PHASES,
    REQUESTS,
    RETRIES,
    TOKENS,
    TTFT,
    RetryReason,
)
from gateway.telemetry.streams import StreamTable
from gateway.telemetry.tables import CounterTable, HistogramTable


class Metrics:
    """Every metric of one gateway, in a registry of its own."""

    def __init__(self) -> None:
        """Register them all."""
        self.registry = registry = CollectorRegistry()
        # What is counted some at a time is counted to the end first: collectors are asked in this order.
        self.before_collect: Callable[[], None] = lambda: None
        registry.register(_Settling(lambda: self.before_collect()))
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self.requests = CounterTable(*REQUESTS.described, registry=registry)
        self.decisions = CounterTable(*DECISIONS.described, registry=registry)
        self.ttft = HistogramTable(*TTFT.described, TTFT.bounds, registry=registry)
        self.inter_token = HistogramTable(*INTER_TOKEN.described, INTER_TOKEN.bounds, registry=registry)
        self.duration = HistogramTable(*DURATION.described, DURATION.bounds, registry=registry)
        self.tokens = CounterTable(*TOKENS.described, registry=registry)
        self.retries = CounterTable(*RETRIES.described, registry=registry)
        self.cancelled = CounterTable(*CANCELLED.described, registry=registry)
        self.broken = CounterTable(*BROKEN.described, registry=registry)
        self.overhead = HistogramTable(*OVERHEAD.described, OVERHEAD.bounds, registry=registry)
        self.discovery_errors = CounterTable(*DISCOVERY_ERRORS.described, registry=registry)
        self.reloads = CounterTable(*RELOADS.described, registry=registry)
        for result in ("applied", "refused"):
            self.reloads.add((result,), 0)
        self.config_valid = Gauge(*CONFIG_VALID.described, registry=registry)
        self.config_valid.set(1)
        self.streams = StreamTable(registry)
        build = Gauge(*BUILD.described, registry=registry)
        build.labels(__version__).set(1)
        for phase in PHASES:
            self.cancelled.add((phase,), 0)

    def expect(self, model: str, pools: Iterable[str]) -> None:
        """Show as 0 what alerts are on before it happens: a series that begins above 0 has not risen."""
        self.requests.add((model, NONE, "429", "refused"), 0)
        for pool in pools:
            self.broken.add((model, pool), 0)
            for reason in get_args(RetryReason):
                self.retries.add((model, pool, reason), 0)


class _Settling(Collector):
    """Has no metrics: being asked for them is its use."""

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle

    def collect(self) -> Iterator[Metric]:
        self._settle()
        return iter(())


class LoadCollector(Collector):
    """Gauges of the load, computed from the models when scraped: the hot path sets none."""

    def __init__(
        self,
        models: Callable[[], Iterable[Model]],
        lines_dropped: Callable[[], int],
        reads: Callable[[Replica], int],
    ) -> None:
        """All are asked at each scrape; `reads`: how often bytes came from a replica."""
        self._models = models
        self._lines_dropped = lines_dropped
        self._reads = reads

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        inflight, limit, ready = INFLIGHT.gauge(), POOL_LIMIT.gauge(), READY_REPLICAS.gauge()
        replica_inflight, replica_reads = REPLICA_INFLIGHT.gauge(), REPLICA_READS.counter()
        age, depth, high = DISCOVERY_AGE.gauge(), QUEUE_DEPTH.gauge(), SWITCH_HIGH.gauge()
        for model in self._models():
            name = model.config.name
            depth.add_metric((name,), len(model.queue))
            if model.config.policy.kind == "threshold" and model.config.policy.mode == "switch":
                high.add_metric((name,), int(model.high))
            for role, pool in model.pools.items():
                if pool.config is None and pool.inflight == 0:
                    continue
                labels = (name, role)
                inflight.add_metric(labels, pool.inflight)
                limit.add_metric(labels, model.limit(role))
                ready.add_metric(labels, len(pool.ready))
                if pool.confirmed_at is not None:
                    age.add_metric(labels, time.monotonic() - pool.confirmed_at)
                for replica in pool.replicas.values():
                    replica_inflight.add_metric((*labels, replica.label), replica.inflight)
                    replica_reads.add_metric((*labels, replica.label), self._reads(replica))
        dropped = LINES_DROPPED.counter()
        dropped.add_metric((), self._lines_dropped())
        return iter((inflight, limit, ready, replica_inflight, replica_reads, age, depth, high, dropped))
