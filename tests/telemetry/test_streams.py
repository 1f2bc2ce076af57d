"""Streams by the concurrency that they met."""

import pytest
from prometheus_client import CollectorRegistry

from gateway.telemetry.streams import StreamTable

WHERE = {"model": "m", "pool": "speculative"}


@pytest.mark.parametrize(
    ("concurrency", "band", "upper"),
    [
        (1, "1", 1),
        (2, "2", 2),
        (3, "3-4", 4),
        (4, "3-4", 4),
        (5, "5-8", 8),
        (8, "5-8", 8),
        (9, "9-16", 16),
        (64, "33-64", 64),
        (65, "65-128", 128),
        (128, "65-128", 128),
        (129, "129+", None),
        (5000, "129+", None),
    ],
)
def test_a_stream_counts_in_its_band(concurrency: int, band: str, upper: int | None) -> None:
    registry = CollectorRegistry()
    StreamTable(registry).add("m", "speculative", concurrency, tokens=10, seconds=2.5, events=4)
    labels = {**WHERE, "concurrency": band}
    assert registry.get_sample_value("spillway_stream_tokens_total", labels) == 10
    assert registry.get_sample_value("spillway_stream_seconds_total", labels) == 2.5
    assert registry.get_sample_value("spillway_stream_events_total", labels) == 4
    assert registry.get_sample_value("spillway_concurrency_upper", {"concurrency": band}) == upper


def test_streams_add_up() -> None:
    registry = CollectorRegistry()
    table = StreamTable(registry)
    for concurrency in (3, 4, 5):
        table.add("m", "speculative", concurrency, tokens=10, seconds=1.0, events=5)
    assert registry.get_sample_value("spillway_stream_tokens_total", {**WHERE, "concurrency": "3-4"}) == 20
    assert registry.get_sample_value("spillway_stream_tokens_total", {**WHERE, "concurrency": "5-8"}) == 10
