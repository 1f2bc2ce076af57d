"""Counters and histograms show what prometheus-client's own would, for the same observations."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families

from gateway.telemetry.tables import CounterTable, HistogramTable

LABELS = ("model", "pool")
BOUNDS = (0.005, 0.1, 0.5, 1, 2.5, 10)
OPENMETRICS = "application/openmetrics-text; version=1.0.0"

names = st.text(st.characters(codec="utf-8"), max_size=6)
labels = st.tuples(names, names)
amounts = st.integers(0, 1000) | st.floats(0, 1e6)
values = st.sampled_from([0.0, *BOUNDS, 0.0050001, 11.0, 1e9]) | st.floats(0, 20)


def shown(registry: CollectorRegistry, accept: str = "text/plain") -> list[str]:
    """The exposition's lines, without the times of creation, which ours do not keep."""
    encode, _ = choose_encoder(accept)
    return [line for line in encode(registry).decode().split("\n") if "_created" not in line]


@given(st.lists(st.tuples(labels, amounts), max_size=20))
def test_counters(observations: Sequence[tuple[tuple[str, str], float]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    table = CounterTable("spillway_x", "What\nit \\ is.", LABELS, registry=ours)
    counter = Counter("spillway_x", "What\nit \\ is.", LABELS, registry=theirs)
    for where, amount in observations:
        table.add(where, amount)
        counter.labels(*where).inc(amount)
    for accept in ("text/plain", OPENMETRICS):
        assert shown(ours, accept) == shown(theirs, accept)


@given(st.lists(st.tuples(labels, values), max_size=30))
def test_histograms(observations: Sequence[tuple[tuple[str, str], float]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    table = HistogramTable("spillway_s", "Seconds.", LABELS, BOUNDS, registry=ours)
    histogram = Histogram("spillway_s", "Seconds.", LABELS, buckets=BOUNDS, registry=theirs)
    for where, value in observations:
        table.observe(where, value)
        histogram.labels(*where).observe(value)
    for accept in ("text/plain", OPENMETRICS):
        assert shown(ours, accept) == shown(theirs, accept)


def test_a_count_of_one_is_the_default() -> None:
    registry = CollectorRegistry()
    table = CounterTable("spillway_x", "X.", LABELS, registry=registry)
    table.add(("m", "p"))
    table.add(("m", "p"))
    assert 'spillway_x_total{model="m",pool="p"} 2.0' in shown(registry)


def test_what_was_shown_can_be_read() -> None:
    registry = CollectorRegistry()
    table = HistogramTable("spillway_s", "Seconds.", LABELS, BOUNDS, registry=registry)
    table.observe(('quo"te', "back\\slash\n"), 0.3)
    [family] = text_string_to_metric_families(generate_latest(registry).decode())
    buckets = {sample.labels["le"]: sample.value for sample in family.samples if sample.name.endswith("_bucket")}
    assert buckets == {"0.005": 0, "0.1": 0, "0.5": 1, "1.0": 1, "2.5": 1, "10.0": 1, "+Inf": 1}
    assert family.samples[0].labels["pool"] == "back\\slash\n"
