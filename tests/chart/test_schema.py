"""values.schema.json: as complete as values.yaml and the gateway's own configuration, and no more."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from gateway import config as gateway
from gateway.config.section import Section
from tests.chart.cases import CASES
from tests.chart.helm import CHART, Object, Values, example, refusal

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
Path = tuple[str, ...]

# Mappings that hold what the operator likes: labels, resources, Kubernetes' own types.
FREE = {"policy", "discovery", "health", "engine_load", "tls", "limits", "retries", "cors", "log", "redis"}
FREE |= {"requests", "resources"}


def resolved(node: Object) -> Object:
    """The definition that a node refers to, or the node."""
    while "$ref" in node:
        node = SCHEMA["definitions"][node["$ref"].removeprefix("#/definitions/")]
    return node


def fixed(node: Object, path: Path = ()) -> Iterator[tuple[Path, Object]]:
    """Every mapping in the schema that has properties of its own, lists apart."""
    node = resolved(node)
    if "properties" in node:
        yield path, node
        for name, inner in node["properties"].items():
            yield from fixed(inner, (*path, name))


def at(path: Path) -> Any:
    """What values.yaml has there; None if nothing."""
    found: Any = VALUES
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


MAPPINGS = list(fixed(SCHEMA))


def test_every_mapping_is_closed() -> None:
    for path, node in MAPPINGS:
        assert node["additionalProperties"] is False, path
    for name, node in SCHEMA["definitions"].items():
        if "properties" in node:
            assert node["additionalProperties"] is False, name


def test_every_definition_is_used() -> None:
    text = json.dumps(SCHEMA)
    for name in SCHEMA["definitions"]:
        assert f'"#/definitions/{name}"' in text, name


@pytest.mark.parametrize(("path", "node"), MAPPINGS, ids=[".".join(path) or "top" for path, _ in MAPPINGS])
def test_values_and_schema_have_the_same_keys(path: Path, node: Object) -> None:
    given = at(path)
    if given == {} or not isinstance(given, dict):
        # Sections of the gateway's file, and what holds only what the operator adds.
        assert set(path) & FREE, path
        return
    if path[-1:] in (("resources",), ("requests",)):
        assert set(given) <= set(node["properties"])
        return
    assert set(given) == set(node["properties"]) - {"global"}


def test_the_values_and_all_cases_pass() -> None:
    VALIDATOR.validate(VALUES)
    for values in CASES.values():
        VALIDATOR.validate(values)


@pytest.mark.parametrize("path", [path for path, _ in MAPPINGS], ids=[".".join(path) or "top" for path, _ in MAPPINGS])
def test_typos_are_refused(path: Path) -> None:
    wrong: Values = {"tyop": 1}
    for name in reversed(path):
        wrong = {name: wrong}
    errors = list(VALIDATOR.iter_errors(wrong))
    assert any("tyop" in error.message for error in errors)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("models", 0, "pool"), {}),
        (("models", 0, "engine", "tensorParalel"), 8),
        (("models", 0, "engine", "flags"), ["--mem-fraction-static", 0.88]),
        (("models", 0, "policy", "treshold"), 5),
        (("models", 0, "pools", "spec"), {}),
        (("models", 0, "pools", "baseline", "discovery"), {"kubernetes": {"services": "x"}}),
        (("gateway", "resources"), {"limit": {}}),
        (("config", "drain", "delay_seconds"), "15s"),
        (("service", "port"), 70000),
    ],
)
def test_helm_refuses_and_says_where(place: tuple[str | int, ...], value: object) -> None:
    values: Any = example("small") | {"gateway": {}, "config": {"drain": {}}, "service": {}}
    target = values
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    said = refusal(values)
    assert "values don't meet the specifications of the schema" in said
    assert all(str(step) in said for step in place[:-1])


@pytest.mark.parametrize(
    ("definition", "sections"),
    [
        ("policy", [gateway.ThresholdPolicy, gateway.AdaptivePolicy, gateway.PinnedPolicy]),
        ("health", [gateway.Health]),
        ("engineLoad", [gateway.EngineLoad]),
        ("limits", [gateway.Limits]),
        ("retries", [gateway.Retries]),
        ("drain", [gateway.Drain]),
        ("cors", [gateway.Cors]),
        ("log", [gateway.Log]),
        ("redis", [gateway.Redis]),
        ("discovery", [gateway.Discovery]),
    ],
)
def test_sections_have_the_gateways_fields(definition: str, sections: list[type[Section]]) -> None:
    fields = {name for section in sections for name in section.model_fields}
    assert set(SCHEMA["definitions"][definition]["properties"]) == fields


def test_inner_sections_have_the_gateways_fields() -> None:
    definitions = SCHEMA["definitions"]
    kubernetes = definitions["discovery"]["properties"]["kubernetes"]
    assert set(kubernetes["properties"]) == set(gateway.Kubernetes.model_fields)
    assert set(definitions["policy"]["properties"]["queue"]["properties"]) == set(gateway.Queue.model_fields)
    assert set(definitions["pool"]["properties"]["tls"]["properties"]) == set(gateway.EngineTls.model_fields)
    assert set(definitions["redis"]["properties"]["tls"]["properties"]) == set(gateway.RedisTls.model_fields)


def test_nothing_of_the_gateways_file_is_out_of_reach() -> None:
    """A new field of the gateway's needs a place in the chart's values and schema, and in templates/_config.tpl."""
    written = {"listen", "admin", "models", "auth"}
    assert set(SCHEMA["properties"]["config"]["properties"]) | written == set(gateway.Config.model_fields)
    model = SCHEMA["definitions"]["model"]["properties"]
    assert set(model) == set(gateway.ModelConfig.model_fields) | {"engine"}
    pool = set(SCHEMA["definitions"]["pool"]["properties"])
    chart = {"replicas", "maxSurge", "autoscaling", "apiKeySecret"}
    assert pool - chart == set(gateway.PoolConfig.model_fields) - {"api_key"}
