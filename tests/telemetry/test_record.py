"""Where a request's record goes: one line without prompt text, and the right counters."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.telemetry import LineWriter, LoadCollector, Metrics, Record, Telemetry
from tests.models.fleet import Clock, config, make, take

FIELDS = {
    "time",
    "event",
    "id",
    "path",
    "model",
    "pool",
    "replica",
    "reason",
    "status",
    "stream",
    "ttft",
    "duration",
    "prompt_tokens",
    "completion_tokens",
    "events",
    "retries",
    "ended",
    "error",
}


class Site:
    """Telemetry that writes into a pipe, at a time of our own."""

    def __init__(self) -> None:
        self.reading, writing = os.pipe()
        self.clock = Clock()
        self.due: list[Callable[[], None]] = []
        self.writer = LineWriter(writing, lambda _seconds, _call: None)
        self.metrics = Metrics()
        self.telemetry = Telemetry(self.metrics, self.clock, self.writer, self.call_later)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        assert 0 < seconds < 1
        self.due.append(call)

    def finish(self, **fields: Any) -> dict[str, Any]:
        """A request that took two seconds ends; returns its line."""
        record = Record(**{"id": "r", "path": "/v1/x", "started": self.clock.now - 2, **fields})
        self.telemetry.finish(record)
        self.telemetry.settle()
        self.writer.flush()
        line = os.read(self.reading, 65536)
        assert line.count(b"\n") == 1
        return dict(json.loads(line))

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.writer.close()


WHERE = {"model": "m", "pool": "speculative"}
PLACED: dict[str, Any] = {**WHERE, "replica": "e:1", "reason": "under_threshold", "status": 200}


def test_a_line(site: Site) -> None:
    first = site.clock.now - 1.5
    line = site.finish(**PLACED, stream=True, first_byte=first, prompt_tokens=7, completion_tokens=4, retries=1)
    assert set(line) == FIELDS
    assert line["event"] == "request"
    assert (line["ttft"], line["duration"]) == (0.5, 2.0)
    assert (line["model"], line["pool"], line["replica"], line["reason"]) == (
        "m",
        "speculative",
        "e:1",
        PLACED["reason"],
    )
    assert (line["prompt_tokens"], line["completion_tokens"], line["retries"]) == (7, 4, 1)
    assert line["ended"] == "finished"


def test_a_line_of_a_request_that_was_never_placed(site: Site) -> None:
    line = site.finish(status=404, ended="refused", error="model_not_found")
    assert (line["ttft"], line["pool"], line["model"], line["error"]) == (None, "none", "none", "model_not_found")
    assert site.value("spillway_requests_total", model="none", pool="none", code="404", ended="refused") == 1
    assert site.value("spillway_request_duration_seconds_count", model="none", pool="none") is None


def test_a_line_is_one_line_whatever_the_path(site: Site) -> None:
    assert site.finish(path='/v1/"\n\r\x00é\u2028')["path"] == '/v1/"\n\r\x00é\u2028'


def test_counts(site: Site) -> None:
    site.finish(**PLACED, stream=True, first_byte=site.clock.now - 1.5, prompt_tokens=7, completion_tokens=4)
    assert site.value("spillway_requests_total", **WHERE, code="200", ended="finished") == 1
    assert site.value("spillway_request_duration_seconds_sum", **WHERE) == 2
    assert site.value("spillway_ttft_seconds_sum", **WHERE) == 0.5
    assert site.value("spillway_inter_token_seconds_sum", **WHERE) == 0.5, "1.5 s over three gaps"
    assert site.value("spillway_tokens_total", **WHERE, kind="prompt") == 7
    assert site.value("spillway_tokens_total", **WHERE, kind="completion") == 4
    assert site.value("spillway_tokens_total", **WHERE, kind="completion_estimated") is None
    assert site.value("spillway_relay_overhead_seconds_count", **WHERE) == 1


def test_a_streams_speed_is_counted_by_the_concurrency_that_it_met(site: Site) -> None:
    first = site.clock.now - 1.5
    site.finish(**PLACED, stream=True, first_byte=first, completion_tokens=7, events=4, concurrency=3)
    site.finish(**PLACED, stream=True, first_byte=first, events=4, concurrency=3)
    site.finish(**PLACED, first_byte=first, completion_tokens=7, concurrency=3)
    met = {**WHERE, "concurrency": "3-4"}
    assert site.value("spillway_stream_tokens_total", **met) == 6
    assert site.value("spillway_stream_seconds_total", **met) == 1.5
    assert site.value("spillway_stream_events_total", **met) == 3


def test_the_latest_requests_are_kept(site: Site) -> None:
    running = Record(id="running", path="/", started=site.clock.now, **PLACED)
    site.telemetry.placed(running)
    running.retries = 1
    site.telemetry.placed(running)
    site.finish(model="m", status=429, ended="refused", error="overloaded")
    site.finish(status=404, ended="refused", error="model_not_found")
    assert [record.error for record in site.telemetry.recent] == ["", "overloaded"]
    assert site.value("spillway_route_decisions_total", **WHERE, reason="under_threshold") == 2


def test_tokens_are_estimated_where_the_engine_did_not_say(site: Site) -> None:
    site.finish(**PLACED, stream=True, first_byte=site.clock.now - 1, events=3)
    assert site.value("spillway_tokens_total", **WHERE, kind="completion_estimated") == 3
    assert site.value("spillway_inter_token_seconds_sum", **WHERE) == 0.5


@pytest.mark.parametrize(
    "fields", [{"completion_tokens": 1, "stream": True}, {"completion_tokens": 9}, {"completion_tokens": 0}, {}]
)
def test_no_time_between_tokens(site: Site, fields: dict[str, Any]) -> None:
    """Of one token, or of an answer that came as a whole."""
    site.finish(**PLACED, first_byte=site.clock.now - 1, **fields)
    assert site.value("spillway_inter_token_seconds_count", **WHERE) is None


def test_a_request_without_a_first_byte(site: Site) -> None:
    site.finish(**{**PLACED, "status": 499}, ended="cancelled_before_first_byte")
    assert site.value("spillway_ttft_seconds_count", **WHERE) is None
    assert site.value("spillway_request_duration_seconds_count", **WHERE) == 1
    assert site.value("spillway_requests_total", **WHERE, code="499", ended="cancelled_before_first_byte") == 1


def test_what_is_refused_before_it_is_a_request_is_counted(site: Site) -> None:
    for status in (431, 408, 431):
        site.telemetry.refused(status)
    assert site.value("spillway_requests_total", model="none", pool="none", code="431", ended="refused") == 2


def test_without_a_log_the_counting_goes_on(site: Site) -> None:
    site.telemetry.access_log = None
    site.telemetry.finish(Record(id="r", path="/", started=site.clock.now, **PLACED))
    assert site.value("spillway_requests_total", **WHERE, code="200", ended="finished") == 1


def test_gauges_are_read_from_the_models() -> None:
    metrics, model = Metrics(), make(config(2, 1, threshold=3, mode="switch"))
    metrics.registry.register(LoadCollector(lambda: [model], lambda: 5, lambda _: 9))
    grant = take(model)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    assert value("spillway_inflight", **WHERE) == 1
    assert value("spillway_replica_inflight", **WHERE, replica=grant.replica.label) == 1
    assert value("spillway_replica_reads_total", **WHERE, replica=grant.replica.label) == 9
    assert value("spillway_pool_limit", **WHERE) == 6
    assert value("spillway_pool_limit", model="m", pool="baseline") == 128
    assert value("spillway_ready_replicas", **WHERE) == 2
    assert value("spillway_queue_depth", model="m") == 0
    assert value("spillway_switch_high", model="m") == 0
    assert value("spillway_log_lines_dropped_total") == 5
    grant.lease.release()
    assert value("spillway_inflight", **WHERE) == 0
