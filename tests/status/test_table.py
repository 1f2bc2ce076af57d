"""What is shown of an answer, of this version's and of others'."""

import json
from typing import Any

import pytest

from gateway.status.fetch import NoStatusError, decoded
from gateway.status.table import text
from tests.status.pages import Fields, model, pool, replica, status


def shown(answer: Fields, most: int = 10) -> str:
    return text(decoded("http://g/status", json.dumps(answer).encode()), most)


def test_the_least_that_an_older_gateway_says() -> None:
    assert shown(status(model(pool(replica(1, inflight=2), inflight=2)))) == (
        "spillway 9.9.9, serving\n"
        "\n"
        "model k2\n"
        "  policy  threshold 5 per ready speculative replica, mode spill\n"
        "  counts  of this gateway alone\n"
        "  queue   0 waiting\n"
        "\n"
        "  pool         in flight  limit   ready\n"
        "  speculative          2     20  1 of 1\n"
        "\n"
        "  speculative replica    in flight  state\n"
        "  http://10.0.0.1:30000          2  ready\n"
    )


def test_several_gateways_that_count_in_redis() -> None:
    shared = pool(replica(1, inflight=12, inflight_here=3), inflight=12, inflight_here=3, share=5)
    redis = {"state": "up", "since": "2026-11-29T17:11:39.700Z", "mode": "cluster", "address": "r:6379", "error": None}
    since = {"gateways": 4, "source": "redis", "since": "2026-11-29T17:11:40.100Z"}
    page = shown(status(model(shared, aliases=["k", "kimi"], queued=3, **since), gateway="host-3f", redis=redis))
    assert page == (
        "spillway 9.9.9, gateway host-3f, serving\n"
        "redis up since 2026-11-29 17:11:39 UTC (cluster, r:6379)\n"
        "\n"
        "model k2, also k, kimi\n"
        "  policy  threshold 5 per ready speculative replica, mode spill\n"
        "  counts  of 4 gateways together, by Redis since 2026-11-29 17:11:40 UTC\n"
        "  queue   3 waiting here\n"
        "\n"
        "  pool         in flight  here  limit   ready\n"
        "  speculative         12     3     20  1 of 1\n"
        "\n"
        "  speculative replica    in flight  here  state\n"
        "  http://10.0.0.1:30000         12     3  ready\n"
    )


def test_redis_that_is_away() -> None:
    redis = {"state": "down", "since": "2026-11-29T17:11:39Z", "mode": "single", "address": None, "error": "refused"}
    alone = {"gateways": 4, "source": "local", "since": "2026-11-29T17:11:39Z"}
    page = shown(status(model(pool(replica(), share=5), **alone), redis=redis))
    assert "redis down since 2026-11-29 17:11:39 UTC (single): refused\n" in page
    assert (
        "  counts  of this gateway alone since 2026-11-29 17:11:39 UTC, which keeps to its share of the limits; "
        "4 gateways known\n" in page
    )
    assert "  pool         in flight  here  limit  share   ready\n" in page


def test_what_the_policy_adaptive_has_learned() -> None:
    rates = ((1, 212.43), (2, 180.0), (8, 61.5))
    curve = [{"inflight": at, "rate": rate, "worth": 1.0, "requests": 9.0} for at, rate in rates]
    learned = {
        "mode": "explore_quiet",
        "crossover": 12,
        "pools": {
            "speculative": {"requests": 1500, "age": 2.3, "curve": curve},
            "baseline": {"requests": 0, "age": None, "curve": []},
        },
    }
    policy = {"kind": "adaptive", "objective": "balanced"}
    page = shown(status(model(pool(replica()), adaptive=learned) | {"policy": policy}))
    assert (
        "  policy  adaptive, objective balanced\n"
        "  now     decided the last by: explore quiet; crossover at 12 on a replica\n"
        "  learned speculative: tokens/s of a request 212.4 at 1, 61.5 at 8 on a replica, from 1500 requests, "
        "the last 2 s ago\n"
        "  learned baseline: nothing yet\n"
        "  counts  of this gateway alone\n"
    ) in page
    page = shown(status(model(pool(replica()), adaptive={"mode": None, "crossover": None, "pools": {}})))
    assert "  now     nothing decided yet; no crossover known\n" in page


def test_what_engines_hold_from_elsewhere() -> None:
    said: list[Fields] = [
        {"engine_load": {"count": 7, "age": 1.0, "error": None}, "outside": 4},
        {"engine_load": {"count": None, "age": 31.0, "error": "404 from /metrics"}},
        {"engine_load": None},
    ]
    page = shown(status(model(pool(*(replica(number, **each) for number, each in enumerate(said)), outside=4))))
    assert (
        "  pool         in flight  outside  limit   ready\n  speculative          0        4     20  3 of 3\n" in page
    )
    assert "  http://10.0.0.0:30000          0        4  ready\n" in page
    assert "  http://10.0.0.1:30000          0        ?  ready; its own load unknown: 404 from /metrics\n" in page
    assert "  http://10.0.0.2:30000          0        -  ready\n" in page


def test_of_many_replicas_those_in_trouble_then_the_busiest() -> None:
    replicas = [replica(number, inflight=number % 7) for number in range(100)]
    replicas[42] |= {"state": "ejected", "error": "connection refused"}
    replicas[17] |= {"state": "draining"}
    lines = shown(status(model(pool(*replicas))), 5).splitlines()
    shares = [line.split()[0] for line in lines if "http://" in line]
    assert shares == [f"http://10.0.0.{number}:30000" for number in (17, 42, 13, 20, 27)]
    assert any(line.endswith("ejected: connection refused") for line in lines)
    assert lines[-1] == "  … 95 more: 95 ready"
    assert sum("http://" in line for line in shown(status(model(pool(*replicas))), 0).splitlines()) == 100


def test_more_in_trouble_than_are_shown() -> None:
    replicas = [replica(number, state="ejected" if number < 8 else "ready") for number in range(20)]
    assert shown(status(model(pool(*replicas))), 5).splitlines()[-1] == "  … 15 more: 3 ejected, 12 ready"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"kind": "pinned", "pool": "baseline"}, "pinned to baseline"),
        (
            {"kind": "threshold", "mode": "switch", "threshold": 7, "high": True},
            "threshold 7 per ready speculative replica, mode switch: high, to the baseline pool",
        ),
        (
            {"kind": "threshold", "mode": "switch", "threshold": 7, "high": False},
            "threshold 7 per ready speculative replica, mode switch: low, to the speculative pool",
        ),
        (
            {"kind": "of the future", "x": 1, "on": True, "queue": {"size": 1}, "allow_pinning": False, "none": None},
            "of the future, x 1, on true",
        ),
        ({}, "unknown"),
    ],
)
def test_policies(policy: dict[str, Any], said: str) -> None:
    assert f"  policy  {said}\n" in shown(status(model(pool(replica()), policy=policy)))


def test_a_gateway_that_ends_and_a_model_without_replicas() -> None:
    page = shown(status(model(pool()), draining=True))
    assert page.startswith("spillway 9.9.9, draining\n")
    assert page.endswith("  pool         in flight  limit   ready\n  speculative          0     20  0 of 0\n")


def test_no_models() -> None:
    assert shown(status()) == "spillway 9.9.9, serving\n\nno models\n"


def test_nothing_steers_the_terminal() -> None:
    page = shown(status(model(pool(replica(state="ejected", error="\x1b[2J\r\nhello")))))
    assert "\\x1b[2J\\r\\nhello" in page
    assert "\x1b" not in page


def test_fields_of_newer_gateways_are_passed_over() -> None:
    answer = status(model(pool(replica(new=1), new=2), new=[3]), new={"a": 4})
    assert shown(answer) == shown(status(model(pool(replica()))))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": "ok"}, "missing required field `version`"),
        ({"version": "1", "models": 3}, "Expected `array`, got `int` - at `$.models`"),
        (status(model({"inflight": 1})), "missing required field `limit`"),
    ],
)
def test_another_shape(answer: Fields, words: str) -> None:
    with pytest.raises(NoStatusError, match="no status as known here") as raised:
        shown(answer)
    assert words in str(raised.value)
    assert "is this a Spillway gateway?" in str(raised.value)
