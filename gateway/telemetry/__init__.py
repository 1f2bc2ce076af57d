"""Metrics and logs."""

from gateway.telemetry.engine_load import EngineLoadCollector
from gateway.telemetry.log import LineWriter, configure_logging
from gateway.telemetry.metrics import LoadCollector, Metrics
from gateway.telemetry.record import CLIENT_GONE, Record, Telemetry
from gateway.telemetry.shared_counts import SharedCountsCollector

__all__ = [
    "CLIENT_GONE",
    "EngineLoadCollector",
    "LineWriter",
    "LoadCollector",
    "Metrics",
    "Record",
    "SharedCountsCollector",
    "Telemetry",
    "configure_logging",
]
