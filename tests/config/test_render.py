"""The effective configuration: complete, stable, and the same when it is read again."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config import Config, effective_yaml, load_config
from tests.config.support import MODELS, write

MASK = "***"
NAMES = [
    "kimi-k2.5",
    "null",
    "true",
    "1e3",
    "0o17",
    "80:80",
    "2024-01-01",
    "-",
    "?",
    "#x",
    "&a",
    "*a",
    "{a",
    "yes",
    "~",
]
ODD_FILES = ["keys", "null", "1e3", "a b", "it's", 'a"b', "- x", "k: v", "#k", "ключ", "a\nb"]

seconds = st.floats(min_value=1e-9, max_value=1e12) | st.integers(1, 10**6)
seconds_or_zero = seconds | st.just(0)
names = st.sampled_from(NAMES) | st.text(min_size=1, max_size=20).filter(
    lambda text: not any(char.isspace() or not char.isprintable() or char in '"\\' for char in text)
)
keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).filter(lambda key: "${" not in key)
urls = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["10.0.0.1", "[::1]", "engine-0.engines.llm.svc", "localhost"]),
    st.integers(1, 65535).map(":{}".format) | st.just(""),
    st.sampled_from(["", "/", "/v2", "/a%20b/'c'"]),
)
distinct_urls = st.lists(urls, min_size=1, max_size=3, unique_by=lambda url: url.rstrip("/"))


def section(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with any of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


kubernetes_names = st.sampled_from(["k2-baseline", "0", "1e3", "null", "on"])
label_values = st.sampled_from(["", "true", "1e3", "k2.5_x", "0", "null"])
clusters = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.none() | kubernetes_names,
        "port": st.none() | st.integers(1, 65535) | st.sampled_from(["http", "0x1f", "8080"]),
        "scheme": st.sampled_from(["http", "https"]),
        "path": st.sampled_from(["", "/", "/a%20b/'c'"]),
        "resync_seconds": seconds,
    },
)
queries = st.fixed_dictionaries({"service": kubernetes_names}) | st.fixed_dictionaries(
    {"labels": st.dictionaries(st.sampled_from(["app", "true", "8", "example.com/a.b"]), label_values, min_size=1)}
)
discoveries = st.fixed_dictionaries({"static": distinct_urls}) | st.fixed_dictionaries(
    {"kubernetes": st.builds(lambda query, cluster: {**query, **cluster}, queries, clusters)}
)
pools = st.fixed_dictionaries(
    {"discovery": discoveries},
    optional={
        "engine": st.sampled_from(["sglang", "vllm", "llamacpp", "openai"]),
        "engine_model": st.none() | names,
        "api_key": st.none() | keys,
        "max_inflight": st.integers(1000, 10**9),
        "health": section(
            path=st.none() | st.sampled_from(["/", "/health?x=#1"]), interval=seconds, hang_seconds=seconds
        ),
        "tls": section(verify=st.booleans()),
    },
)
queue = section(size=st.integers(0, 10**9), timeout=seconds)
policies = section(
    kind=st.just("threshold"),
    mode=st.sampled_from(["spill", "switch"]),
    threshold=st.integers(1, 100),
    resume_below=st.floats(0, 1, exclude_min=True),
    min_dwell=seconds_or_zero,
    queue=queue,
    allow_pinning=st.booleans(),
) | st.fixed_dictionaries({"kind": st.just("pinned"), "pool": st.just("baseline")}, optional={"queue": queue})
policies |= st.fixed_dictionaries(
    {"kind": st.just("adaptive")},
    optional={
        "objective": st.sampled_from(["latency", "balanced", "throughput"]),
        "weight": st.floats(0, 1),
        "shared_hardware": st.booleans(),
        "half_life": seconds,
        "exploration": st.floats(0, 1),
        "curves": st.none() | st.just({role: [{"inflight": 1, "rate": 54.1}] for role in ("speculative", "baseline")}),
        "fallback": section(threshold=st.integers(1, 100), resume_below=st.just(0.5), min_dwell=seconds_or_zero),
        "queue": queue,
    },
)


by_role = st.fixed_dictionaries({"baseline": pools}, optional={"speculative": pools})
models = st.fixed_dictionaries(
    {"name": names, "pools": by_role},
    optional={"policy": policies},
)
configs = st.fixed_dictionaries(
    {"models": st.lists(models, min_size=1, max_size=3, unique_by=lambda model: str(model["name"]))},
    optional={
        "listen": section(
            host=st.sampled_from(["::", "127.0.0.1", "fe80::1%eth0", "host"]), port=st.integers(0, 65535)
        ),
        "admin": st.none() | st.fixed_dictionaries({"host": st.just("::1")}, optional={"port": st.integers(0, 65535)}),
        "limits": section(body_bytes=st.integers(1, 10**15), idle_seconds=seconds),
        "retries": section(attempts=st.integers(1, 9), ratio=st.floats(0, 1), burst=st.integers(0, 10**6)),
        "drain": section(delay_seconds=seconds_or_zero, timeout_seconds=seconds_or_zero),
        "auth": section(keys=st.lists(keys, max_size=3), keys_file=st.none() | st.sampled_from(ODD_FILES)),
        "cors": section(allowed_origins=st.lists(st.sampled_from(["*", "https://a.b", "http://c:1"]), max_size=3)),
        "log": section(level=st.sampled_from(["debug", "info"]), access=st.booleans()),
    },
)


def as_yaml(data: dict[str, Any]) -> str:
    """JSON, which is YAML: a writer with quoting rules of its own would have to agree with the loader first."""
    return json.dumps(data, ensure_ascii=False)


def masked(config: Config) -> Config:
    """The configuration with every key replaced by the mask."""
    data = config.model_dump()
    data["auth"]["keys"] = tuple(MASK for _ in data["auth"]["keys"])
    for model in data["models"]:
        for pool in filter(None, model["pools"].values()):
            pool["api_key"] = pool["api_key"] and MASK
    return Config.model_validate(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("render")
    for name in ODD_FILES:
        (folder / name).write_text("key\n")
    return folder


@settings(deadline=None)
@given(data=configs)
def test_loading_what_is_printed_gives_the_same(data: dict[str, Any], folder: Path) -> None:
    config = load_config(write(folder, as_yaml(data), "first.yaml"), {}).config
    printed = effective_yaml(config)
    again = load_config(write(folder, printed, "again.yaml"), {}).config
    assert again == masked(config)
    assert effective_yaml(again) == printed


@settings(deadline=None)
@given(data=configs)
def test_every_reader_of_yaml_sees_the_same(data: dict[str, Any], folder: Path) -> None:
    """PyYAML follows YAML 1.1, the loader 1.2: what is printed means the same in both."""
    config = load_config(write(folder, as_yaml(data), "first.yaml"), {}).config
    assert yaml.safe_load(effective_yaml(config)) == masked(config).model_dump(mode="json")


def test_every_default_is_printed_in_the_order_of_the_schema(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, MODELS), {}).config
    data = yaml.safe_load(effective_yaml(config))
    assert list(data) == list(Config.model_fields)
    assert data == config.model_dump(mode="json")
    assert data["models"][0]["policy"] == {
        "kind": "threshold",
        "mode": "spill",
        "threshold": 5,
        "resume_below": 0.6,
        "min_dwell": 2.0,
        "queue": {"size": 128, "timeout": 30.0},
        "allow_pinning": False,
    }
