"""Each alert fires when it should, after the time it should, and not before: `promtool test rules`."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import yaml

from tests.monitoring.alerts import GROUPS, RULES

AT = '{namespace="llm", pod="a", model="m"'
SPECULATIVE, BASELINE = (f'{AT}, pool="{pool}"' for pool in ("speculative", "baseline"))
STREAMS = [
    ("spillway_stream_seconds_total" + BASELINE + ', concurrency="3-4"}', "0+60x900"),
    ("spillway_stream_tokens_total" + BASELINE + ', concurrency="3-4"}', "0+3000x900"),
    ("spillway_stream_seconds_total" + SPECULATIVE + ', concurrency="3-4"}', "0+60x900"),
]
ONCE = [
    (f'spillway_stream_{what}_total{pool}, concurrency="5-8"}}', "7x900")
    for what in ("tokens", "seconds")
    for pool in (SPECULATIVE, BASELINE)
]


class Case(NamedTuple):
    """Series, a sample a minute; the minute at which the alert does not fire yet, if any, and that at which it does."""

    alert: str
    series: list[tuple[str, str]]
    quiet: int | None
    fires: int | None
    labels: Mapping[str, str] = MappingProxyType({})


def requests(code: str, rate: str, ended: str = "finished") -> tuple[str, str]:
    """A counter of requests."""
    return f'spillway_requests_total{BASELINE}, code="{code}", ended="{ended}"}}', rate


WHERE = {"namespace": "llm", "model": "m"}
CASES = [
    Case(
        "ModelDown",
        [(f"spillway_ready_replicas{SPECULATIVE}}}", "1x4 0x20"), (f"spillway_ready_replicas{BASELINE}}}", "1x4 0x20")],
        5,
        8,
        WHERE,
    ),
    Case(
        "ModelDown",
        [(f"spillway_ready_replicas{SPECULATIVE}}}", "0x20"), (f"spillway_ready_replicas{BASELINE}}}", "1x20")],
        15,
        None,
    ),
    Case("PoolDown", [(f"spillway_ready_replicas{BASELINE}}}", "1x4 0x20")], 8, 12, {**WHERE, "pool": "baseline"}),
    Case("ErrorBudgetFast", [requests("200", "0+60x200"), requests("502", "0x60 0+30x100")], 61, 100, WHERE),
    Case("ErrorBudgetFast", [requests("200", "0+60x200"), requests("502", "0x60 0+30x20 600x100")], 119, None),
    Case("ErrorBudgetFast", [requests("200", "0+60x200"), requests("404", "0+30x200")], 100, None),
    Case("ErrorBudgetFast", [requests("200", "0+60x200"), requests("200", "0+30x200", "broken")], None, 100, WHERE),
    Case("ErrorBudgetSlow", [requests("200", "0+60x600"), requests("429", "0+6x600", "refused")], None, 500, WHERE),
    Case(
        "TtftHigh",
        [
            (f'spillway_ttft_seconds_bucket{BASELINE}, le="5"}}', "0+10x60"),
            (f'spillway_ttft_seconds_bucket{BASELINE}, le="40"}}', "0+60x60"),
            (f'spillway_ttft_seconds_bucket{BASELINE}, le="+Inf"}}', "0+60x60"),
        ],
        3,
        30,
        WHERE,
    ),
    Case(
        "TtftHigh",
        [
            (f'spillway_ttft_seconds_bucket{BASELINE}, le="5"}}', "0+60x60"),
            (f'spillway_ttft_seconds_bucket{BASELINE}, le="+Inf"}}', "0+60x60"),
        ],
        30,
        None,
    ),
    Case(
        "SpeculativeAlwaysFull",
        [(f"spillway_inflight{SPECULATIVE}}}", "5x200"), (f"spillway_pool_limit{SPECULATIVE}}}", "5x200")],
        10,
        100,
        WHERE,
    ),
    Case(
        "SpeculativeAlwaysFull",
        [(f"spillway_inflight{SPECULATIVE}}}", "4x200"), (f"spillway_pool_limit{SPECULATIVE}}}", "5x200")],
        150,
        None,
    ),
    Case(
        "SpeculativeAlwaysFull",
        [
            (f"spillway_inflight{SPECULATIVE}}}", "3x200"),
            (f"spillway_outside_inflight{SPECULATIVE}}}", "2x200"),
            (f"spillway_pool_limit{SPECULATIVE}}}", "5x200"),
        ],
        10,
        100,
        WHERE,
    ),
    Case(
        "SpeculativeAlwaysFull",
        [
            (f"spillway_inflight{SPECULATIVE}}}", "2x200"),
            (f"spillway_shared_inflight{SPECULATIVE}}}", "5x200"),
            (f"spillway_pool_limit{SPECULATIVE}}}", "5x200"),
        ],
        10,
        100,
        WHERE,
    ),
    # Two gateways that count apart: neither is at its limit.
    Case(
        "SpeculativeAlwaysFull",
        [
            (f'{name}{{namespace="llm", pod="{pod}", model="m", pool="speculative"}}', value)
            for name, value in (("spillway_inflight", "3x200"), ("spillway_pool_limit", "5x200"))
            for pod in ("a", "b")
        ],
        150,
        None,
    ),
    # In mode switch the pool empties while the total is over.
    Case(
        "SpeculativeAlwaysFull",
        [
            (f"spillway_inflight{SPECULATIVE}}}", "0x200"),
            (f"spillway_pool_limit{SPECULATIVE}}}", "5x200"),
            (f"spillway_switch_high{AT}}}", "1x200"),
        ],
        10,
        100,
        WHERE,
    ),
    Case(
        "SpeculationNotPaying",
        [*STREAMS, (f'spillway_stream_tokens_total{SPECULATIVE}, concurrency="3-4"}}', "0+2400x900")],
        10,
        60,
        WHERE,
    ),
    # A level of concurrency that was there once, before the first scrape.
    Case(
        "SpeculationNotPaying",
        [
            *STREAMS,
            *ONCE,
            (f'spillway_stream_tokens_total{SPECULATIVE}, concurrency="3-4"}}', "0+2400x900"),
        ],
        10,
        60,
        WHERE,
    ),
    Case(
        "SpeculationNotPaying",
        [*STREAMS, (f'spillway_stream_tokens_total{SPECULATIVE}, concurrency="3-4"}}', "0+3600x900")],
        200,
        None,
    ),
    Case(
        "SpeculationNotPaying",
        [*STREAMS, (f'spillway_stream_tokens_total{SPECULATIVE}, concurrency="5-8"}}', "0+2400x900")],
        200,
        None,
    ),
    Case(
        "AcceptLengthLow",
        [
            (
                'sglang:spec_accept_length{namespace="llm", spillway_model="m", spillway_pool="speculative"}',
                "2.6x600 1.2x100",
            )
        ],
        600,
        640,
        {"namespace": "llm", "spillway_model": "m"},
    ),
    Case(
        "RequestsStuck",
        [
            (f'spillway_replica_inflight{BASELINE}, replica="e:1"}}', "1x30"),
            (f'spillway_replica_reads_total{BASELINE}, replica="e:1"}}', "0+5x10 50x20"),
        ],
        10,
        20,
        {**WHERE, "pod": "a", "pool": "baseline", "replica": "e:1"},
    ),
    Case(
        "RequestsStuck",
        [
            (f'spillway_replica_inflight{BASELINE}, replica="e:1"}}', "1x3 0 1x26"),
            (f'spillway_replica_reads_total{BASELINE}, replica="e:1"}}', "0+1x30"),
        ],
        28,
        None,
    ),
    Case("Queueing", [(f"spillway_queue_depth{AT}}}", "3x30")], 3, 12, WHERE),
    Case("Queueing", [(f"spillway_queue_depth{AT}}}", "3 0 3 3 0 3 0 3 3 0 3 0 3")], 12, None),
    Case("QueueRejecting", [requests("429", "0x5 0+6x20", "refused")], 5, 12, WHERE),
    Case("QueueRejecting", [requests("429", "0x5 0+6x20")], 15, None),
    Case(
        "ResponsesBroken",
        [(f"spillway_broken_responses_total{BASELINE}}}", "0x5 1x20")],
        4,
        7,
        {**WHERE, "pool": "baseline"},
    ),
    Case(
        "Retrying",
        [(f'spillway_retries_total{BASELINE}, reason="connect"}}', "0+30x40")],
        5,
        20,
        {**WHERE, "pool": "baseline"},
    ),
    Case(
        "ConfigRefused",
        [('spillway_config_last_reload_successful{namespace="llm", pod="a"}', "1x5 0x10")],
        6,
        9,
        {"namespace": "llm", "pod": "a"},
    ),
    Case(
        "GatewayBusy",
        [
            ('spillway_config_last_reload_successful{namespace="llm", pod="a"}', "1x40"),
            ('process_cpu_seconds_total{namespace="llm", pod="a"}', "0+57x40"),
        ],
        5,
        20,
        {"namespace": "llm", "pod": "a"},
    ),
    Case("GatewayBusy", [('process_cpu_seconds_total{namespace="llm", pod="other"}', "0+57x40")], 30, None),
    Case(
        "DiscoveryStale",
        [(f"spillway_discovery_age_seconds{BASELINE}}}", "0+60x10")],
        5,
        7,
        {**WHERE, "pool": "baseline"},
    ),
    Case("RedisFallback", [(f"spillway_redis_up{AT}}}", "1x5 0x10")], 6, 9, {"namespace": "llm", "pod": "a"}),
]


def expected(case: Case) -> list[dict[str, Any]]:
    """What promtool is to expect: nothing at `quiet`, the alert with its labels at `fires`."""
    name = f"Spillway{case.alert}"
    [rule] = [rule for rule in RULES if rule["alert"] == name]
    quiet = [] if case.quiet is None else [{"eval_time": f"{case.quiet}m", "alertname": name, "exp_alerts": []}]
    if case.fires is None:
        return quiet
    texts = dict(rule["annotations"])
    for label, value in case.labels.items():
        texts = {key: text.replace(f"{{{{ $labels.{label} }}}}", value) for key, text in texts.items()}
    alert = {"exp_labels": {**case.labels, **rule["labels"]}, "exp_annotations": texts}
    return [*quiet, {"eval_time": f"{case.fires}m", "alertname": name, "exp_alerts": [alert]}]


def test_alerts_fire_when_they_should(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": GROUPS}))
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": series, "values": values} for series, values in case.series],
            "alert_rule_test": expected(case),
        }
        for case in CASES
    ]
    (tmp_path / "tests.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}, sort_keys=False)
    )
    done = subprocess.run(["promtool", "test", "rules", "tests.yaml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_each_alert_is_tested(rule: dict[str, Any]) -> None:
    assert rule["alert"] in {f"Spillway{case.alert}" for case in CASES if case.fires is not None}
