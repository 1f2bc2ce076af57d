"""The demo reads the gateway's own account, and writes a configuration that the gateway accepts."""

from pathlib import Path

from gateway.config import load_config
from gateway.demo.gateway import parse_requests, write_config

METRICS = """\
# HELP spillway_requests_total Requests ended.
# TYPE spillway_requests_total counter
spillway_requests_total{model="smollm2",pool="speculative",code="200",ended="finished"} 11.0
spillway_requests_total{model="smollm2",pool="speculative",code="200",ended="broken"} 1.0
spillway_requests_total{model="smollm2",pool="baseline",code="200",ended="finished"} 3.0
spillway_requests_total{model="smollm2",pool="baseline",code="502",ended="failed"} 0.0
# HELP spillway_inflight Requests in flight.
# TYPE spillway_inflight gauge
spillway_inflight{model="smollm2",pool="baseline"} 1.0
"""


def test_requests_are_read_by_pool_and_code() -> None:
    assert parse_requests(METRICS) == {("speculative", "200"): 12, ("baseline", "200"): 3}


def test_the_configuration_is_one_the_gateway_accepts(tmp_path: Path) -> None:
    engines = {"speculative": "http://127.0.0.1:4001", "baseline": "http://127.0.0.1:4002"}
    url = write_config(tmp_path / "gateway.yaml", port=4000, engines=engines, threshold=4, slots=16)
    (model,) = load_config(tmp_path / "gateway.yaml", {}).config.models
    assert url == "http://127.0.0.1:4000"
    assert model.policy.kind == "threshold"
    assert (model.policy.threshold, model.policy.allow_pinning) == (4, True)
    assert model.pools.speculative is not None
    assert model.pools.speculative.discovery.static == ("http://127.0.0.1:4001",)
