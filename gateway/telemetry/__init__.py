"""Metrics and logs."""

from gateway.telemetry.adaptive import AdaptiveCollector
from gateway.telemetry.engine_load import EngineLoadCollector
from gateway.telemetry.families import FAMILIES, Family
from gateway.telemetry.families.requests import RetryReason
from gateway.telemetry.log import LineWriter, configure_logging
from gateway.telemetry.metrics import LoadCollector, Metrics
from gateway.telemetry.record import CLIENT_GONE, Marks, Record, Telemetry, Tracing
from gateway.telemetry.shared_counts import SharedCountsCollector
from gateway.telemetry.tracing import UntraceableError, start_tracing

__all__ = [
    "CLIENT_GONE",
    "FAMILIES",
    "AdaptiveCollector",
    "EngineLoadCollector",
    "Family",
    "LineWriter",
    "LoadCollector",
    "Marks",
    "Metrics",
    "Record",
    "RetryReason",
    "SharedCountsCollector",
    "Telemetry",
    "Tracing",
    "UntraceableError",
    "configure_logging",
    "start_tracing",
]
