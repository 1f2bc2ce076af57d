"""Prometheus metrics. Counters and histograms are fed once a request; gauges are read when scraped."""

import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from gateway import __version__
from gateway.models import Model
from gateway.pools import Replica
from gateway.telemetry.streams import StreamTable
from gateway.telemetry.tables import CounterTable, HistogramTable

_TTFT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 80, 120)
_INTER_TOKEN = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2)
_DURATION = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
_OVERHEAD = (0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5)


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
        where = ("model", "pool")
        self.requests = CounterTable(
            "spillway_requests",
            "Requests ended, by status code (499: the client went away before there was one) and by how they ended, as "
            "the access log says it.",
            (*where, "code", "ended"),
            registry=registry,
        )
        self.decisions = CounterTable(
            "spillway_route_decisions",
            "Placements, by pool and reason; a retried request is placed again.",
            (*where, "reason"),
            registry=registry,
        )
        self.ttft = HistogramTable(
            "spillway_ttft_seconds",
            "From the request's arrival to the first byte of the engine's body, queueing and retries included.",
            where,
            _TTFT,
            registry=registry,
        )
        self.inter_token = HistogramTable(
            "spillway_inter_token_seconds",
            "Mean time between tokens of one stream: first to last byte over tokens less one.",
            where,
            _INTER_TOKEN,
            registry=registry,
        )
        self.duration = HistogramTable(
            "spillway_request_duration_seconds",
            "From the request's arrival to its end.",
            where,
            _DURATION,
            registry=registry,
        )
        self.tokens = CounterTable(
            "spillway_tokens",
            "Tokens by kind: prompt, completion as the engine counted them; completion_estimated, one for each event, "
            "of streams that ended before the engine could say.",
            (*where, "kind"),
            registry=registry,
        )
        self.retries = CounterTable(
            "spillway_retries",
            "Attempts repeated before the first byte, by the pool that failed and why.",
            (*where, "reason"),
            registry=registry,
        )
        self.cancelled = CounterTable(
            "spillway_cancelled",
            "Requests whose client went away, by phase: body, queued, before_first_byte, streaming.",
            ("phase",),
            registry=registry,
        )
        self.broken = CounterTable(
            "spillway_broken_responses",
            "Responses that an engine broke off after the first byte.",
            where,
            registry=registry,
        )
        self.overhead = HistogramTable(
            "spillway_relay_overhead_seconds",
            "The gateway's own share before the engine has the request: body read to request sent, less queueing, "
            "connecting and failed attempts.",
            where,
            _OVERHEAD,
            registry=registry,
        )
        self.discovery_errors = CounterTable(
            "spillway_discovery_errors",
            "Failed requests to the Kubernetes API server, by kind; what is known keeps serving.",
            (*where, "kind"),
            registry=registry,
        )
        self.reloads = CounterTable(
            "spillway_config_reloads",
            "Configuration files taken over (applied) or not (refused).",
            ("result",),
            registry=registry,
        )
        for result in ("applied", "refused"):
            self.reloads.add((result,), 0)
        self.config_valid = Gauge(
            "spillway_config_last_reload_successful",
            "1 while the file on disk is the one being served, 0 after a refused one.",
            registry=registry,
        )
        self.config_valid.set(1)
        self.streams = StreamTable(registry)
        build = Gauge("spillway_build_info", "Always 1; the version is a label.", ("version",), registry=registry)
        build.labels(__version__).set(1)


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
        where = ("model", "pool")
        inflight = GaugeMetricFamily("spillway_inflight", "Requests admitted and not yet ended.", labels=where)
        limit = GaugeMetricFamily(
            "spillway_pool_limit",
            "In-flight requests at which new ones stop going to the pool by choice.",
            labels=where,
        )
        ready = GaugeMetricFamily("spillway_ready_replicas", "Replicas that take new requests.", labels=where)
        replica_inflight = GaugeMetricFamily(
            "spillway_replica_inflight", "In-flight requests of one replica.", labels=(*where, "replica")
        )
        replica_reads = CounterMetricFamily(
            "spillway_replica_reads", "How often bytes came from one replica.", labels=(*where, "replica")
        )
        age = GaugeMetricFamily(
            "spillway_discovery_age_seconds",
            "Since the API server last confirmed the pool's replicas, by a list, a change or a bookmark.",
            labels=where,
        )
        depth = GaugeMetricFamily("spillway_queue_depth", "Requests waiting for room.", labels=("model",))
        high = GaugeMetricFamily(
            "spillway_switch_high", "Mode switch only: 1 while new requests go to the baseline pool.", labels=("model",)
        )
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
        dropped = CounterMetricFamily(
            "spillway_log_lines_dropped",
            "Access log lines lost because standard output was not read.",
            value=self._lines_dropped(),
        )
        return iter((inflight, limit, ready, replica_inflight, replica_reads, age, depth, high, dropped))
