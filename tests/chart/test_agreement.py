"""What the gateway refuses, helm refuses; what helm renders, `spillway check-config` takes."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config import check
from tests.chart.cases import CASES
from tests.chart.container import laid_out
from tests.chart.helm import HelmError, Values, example, refusal, render
from tests.config.one_problem import ONE_PROBLEM

# Wrong in a way that values cannot be, or right in values: the chart's defaults, or its own engines, stand in.
NOT_IN_VALUES = {
    "missing discovery",
    "empty discovery",
    "certificate without key",
    "key without certificate",
    "path that is a number",
    "duplicate top-level field",
    "duplicate nested field",
    "value that contains itself",
    "section left empty",
    "admin on the same port",
}


def as_values(text: str) -> Values | None:
    """A gateway's file as values of the chart; None where it is not YAML, or has no counterpart."""
    try:
        file: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
    values: Values = {"engines": {"enabled": False}, "models": file.pop("models", []), "gateway": {}, "config": {}}
    if (listen := file.pop("listen", None)) is not None:
        values["gateway"] |= listen
    for name, section in file.items():
        values["config"][name] = section
    return values


def problems() -> Iterator[tuple[str, Values]]:
    for name, (text, *_) in ONE_PROBLEM.items():
        if name not in NOT_IN_VALUES and (values := as_values(text)) is not None:
            yield name, values


PROBLEMS = dict(problems())


def checked(values: Values, folder: Path) -> str:
    """What `spillway check-config` says against the file that the chart renders; empty if nothing."""
    file, env = laid_out(render(values), folder)
    said = io.StringIO()
    return "" if check.run(file, env, io.StringIO(), said) == 0 else said.getvalue()


def test_what_is_left_out_is_known() -> None:
    """Otherwise a new way to be wrong would pass by unseen."""
    not_yaml = {name for name, (text, *_) in ONE_PROBLEM.items() if as_values(text) is None}
    assert not_yaml == {"unsupported tag", "python object", "endless number"}
    assert len(PROBLEMS) > 70


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_of_the_gateways_file_is_one_of_the_values(name: str) -> None:
    said = refusal(PROBLEMS[name])
    assert "models" in said or "config" in said or "gateway" in said, said


def pool(**fields: Any) -> Values:
    """A model with one pool of fixed addresses, and these fields."""
    wanted = {"discovery": {"static": ["http://a:1"]}, **fields}
    return {"models": [{"name": "m", "pools": {"baseline": wanted}}]}


def kubernetes(**fields: Any) -> Values:
    return pool(discovery={"kubernetes": {"service": "s", **fields}})


def redis(**fields: Any) -> Values:
    return pool() | {"config": {"redis": {"urls": ["redis://a:1"], **fields}}}


def two_models(first: Values, second: Values) -> Values:
    pools = pool()["models"][0]["pools"]
    return {"models": [{"name": "a", "pools": pools, **first}, {"name": "b", "pools": pools, **second}]}


# Values and the words that say what to do: what those files do not have, or what the chart adds by itself.
REFUSED: dict[str, tuple[Values, str]] = {
    "an alias that is another model's name": (two_models({}, {"aliases": ["a"]}), '"a" is a name of models[0] already'),
    "an alias of two models": (two_models({"aliases": ["x"]}, {"aliases": ["x"]}), "remove it there or here"),
    "an ejection above the longest that is not given": (
        pool(health={"eject_seconds": 61}),
        "models, m, baseline pool: health.eject_max_seconds is 60, below health.eject_seconds, which is 61",
    ),
    "a longest ejection below the first that is not given": (
        pool(health={"eject_max_seconds": 0.5}),
        "is 0.5, below health.eject_seconds, which is 1",
    ),
    "a load that is too old at once": (
        pool(engine_load={"interval_seconds": 6}),
        "models, m, baseline pool: engine_load.stale_after_seconds is 10, below twice engine_load.interval_seconds",
    ),
    "the API's path in a URL": (
        pool(discovery={"static": ["http://a:1", "http://b:1/v1"]}),
        "discovery.static: http://b:1/v1: leave /v1 out at the end: the gateway adds it",
    ),
    "the API's path under a path": (kubernetes(path="/x/v1//"), "discovery.kubernetes.path: leave /v1 out"),
    "one replica twice": (
        pool(discovery={"static": ["http://a:1/", "http://a:1"]}),
        "discovery.static has http://a:1 twice",
    ),
    "a port that is none": (pool(discovery={"static": ["http://a:0/x"]}), "0 is no port: give 1 to 65535"),
    "a pods' port that is none": (kubernetes(port="70000"), "discovery.kubernetes.port: 70000 is no port"),
    "two sources, one of them from the defaults": (
        pool() | {"modelDefaults": {"pool": {"discovery": {"kubernetes": {"service": "s"}}}}},
        "discovery has static and kubernetes, one of them perhaps from modelDefaults.pool: keep one",
    ),
    "a variable that nobody sets": (
        redis(password="${PASSWORD}"),
        "config.redis.password is ${PASSWORD}, which no variable of the gateway has: add it to gateway.extraEnv",
    ),
    "a password in the values": (
        redis(password="secret"),
        "config.redis.password is a secret and may not stand in the values: use redis.passwordSecret,",
    ),
    "a Secret and a variable": (
        redis(password="${P}") | {"redis": {"passwordSecret": {"name": "r"}}},
        "config.redis.password and its Secret in redis are both given: keep one",
    ),
    "a Secret for no Redis": (
        pool() | {"redis": {"passwordSecret": {"name": "r"}}},
        "a Redis that nothing names: set config.redis.urls, or redis.bundled.enabled",
    ),
    "a Redis besides the bundled one": (
        redis() | {"redis": {"bundled": {"enabled": True}}},
        "config.redis.urls is about a Redis of your own, and redis.bundled.enabled starts one",
    ),
    "a Sentinel's password without Sentinels": (
        redis() | {"redis": {"sentinelPasswordSecret": {"name": "r"}}},
        "sentinel_password is for mode sentinel only, and mode is single",
    ),
    "two servers' schemes": (
        redis(mode="cluster", urls=["redis://a:1", "rediss://b:1"]),
        "mixes redis:// and rediss://",
    ),
    "fewer gateways at most than at least": (
        pool() | {"gateway": {"autoscaling": {"enabled": True, "maxReplicas": 1}}},
        "gateway.autoscaling.minReplicas is 2, above maxReplicas, which is 1",
    ),
    "no server": (pool() | {"config": {"redis": {"database": 1}}}, "config.redis.urls is missing: name the server"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_said_what_to_do(name: str) -> None:
    values, words = REFUSED[name]
    assert words in refusal(values)


ODD_NAMES = (
    *(
        "1.0",
        "1e3",
        "0x1f",
        "0o7",
        "1_000",
        "12:30:45",
        "2024-01-01",
        "on",
        "No",
        "null",
        "~",
        "true",
        ".inf",
        "<<",
        "=",
    ),
    *("a:b", "a#b", "#a", "- a".replace(" ", ""), "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "'a'"),
    *("org/Model-7B.v2", "模型", "é", "a" * 256, "$" + "{HOME}", "{{", "a,b", "?"),
)

RENDERED: dict[str, Values] = {
    **CASES,
    "odd names": pool() | {"models": [pool()["models"][0] | {"aliases": list(ODD_NAMES)}]},
    "addresses": pool(
        discovery={"static": ["http://a:1/x", "http://a:1", "https://[fd00::1]:8000/v1x", "http://[::1]", "http://v1"]}
    ),
    "a Service with everything": kubernetes(namespace="n", port=8000, scheme="https", path="/e", resync_seconds=0.5),
    "labels": pool(discovery={"kubernetes": {"labels": {"example.com/app": "x", "b": ""}, "port": "8000"}}),
    "an IPv6 gateway": pool() | {"gateway": {"host": "::"}},
    "a host name": pool() | {"gateway": {"host": "localhost"}},
    "health": pool(health={"path": "/up?x=1", "eject_seconds": 60, "interval": 0.5}),
    "engines' own load": pool(engine_load={"enabled": True, "path": "/m?x=1", "interval_seconds": 5}),
    "numbers": pool(max_inflight=100000)
    | {"config": {"limits": {"body_bytes": 8589934592, "idle_seconds": 1e-3, "connect_seconds": 1e6}}},
    "no drain": pool() | {"config": {"drain": {"delay_seconds": 0, "timeout_seconds": 0}}},
    "no retries": pool() | {"config": {"retries": {"attempts": 1, "ratio": 0, "burst": 0}}},
    "one Redis": redis(database=3, username="spillway", key_prefix="a") | {"redis": {"passwordSecret": {"name": "r"}}},
    "a Redis over TLS": redis(urls=["rediss://a"], tls={"verify": False}),
    "Sentinels": redis(mode="sentinel", service="mymaster", urls=["redis://a", "redis://[fd00::2]:26379"])
    | {"redis": {"passwordSecret": {"name": "r"}, "sentinelPasswordSecret": {"name": "s", "key": "k"}}},
    "a Redis Cluster": redis(
        mode="cluster", urls=["redis://a:1", "redis://b:1"], heartbeat_seconds=2, expiry_seconds=4
    ),
    "a variable of the operator's": redis(password="${P}")
    | {"gateway": {"extraEnv": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "r", "key": "k"}}}]}},
    "the bundled Redis": example("small") | {"redis": {"bundled": {"enabled": True}}},
    "no gateway for now": redis() | {"gateway": {"replicas": 0}},
}


@pytest.mark.parametrize("name", RENDERED)
def test_the_gateway_takes_what_is_rendered(name: str, tmp_path: Path) -> None:
    try:
        said = checked(RENDERED[name], tmp_path)
    except HelmError as error:
        raise AssertionError(f"{name} is right, and helm refuses it: {error}") from None
    assert said == ""
