"""Settings from the environment."""

from pathlib import Path
from typing import Any

import pytest

from gateway.config import PinnedPolicy, load_config
from tests.config.support import MODELS, problems, write

FULL = (
    MODELS
    + """\
    policy: {kind: threshold, threshold: 5}
listen: {port: 8080}
"""
)

# The variables, then where to look in the configuration and what must be there.
APPLIED: dict[str, tuple[dict[str, str], str, object]] = {
    "a number": ({"LISTEN__PORT": "9000"}, "listen.port", 9000),
    "inside a list": ({"MODELS__0__POLICY__THRESHOLD": "7"}, "models.0.policy.threshold", 7),
    "a missing section": ({"RETRIES__BURST": "0"}, "retries.burst", 0),
    "a section that defaults to nothing": ({"ADMIN__PORT": "9090"}, "admin.port", 9090),
    "a list": ({"MODELS__0__ALIASES": "[k2, k3]"}, "models.0.aliases", ("k2", "k3")),
    "one more entry of a list": ({"MODELS__0__ALIASES__0": "k2"}, "models.0.aliases", ("k2",)),
    "a whole section": ({"LOG": "{level: debug}"}, "log.level", "debug"),
    "an inner field over an outer one": (
        {"LISTEN__PORT": "9001", "LISTEN": "{port: 9000, host: '::'}"},
        "listen.port",
        9001,
    ),
    "a boolean": ({"LOG__ACCESS": "false"}, "log.access", False),
    "an old boolean": ({"LOG__ACCESS": "no"}, "log.access", False),
    "a float with exponent": ({"LIMITS__IDLE_SECONDS": "1e3"}, "limits.idle_seconds", 1000.0),
    "digits where text belongs": ({"MODELS__0__NAME": "405"}, "models.0.name", "405"),
    "quoted text": ({"MODELS__0__NAME": "'405'"}, "models.0.name", "405"),
    "text that YAML would not take": ({"MODELS__0__NAME": "@k2"}, "models.0.name", "@k2"),
    "null": ({"ADMIN": "null"}, "admin", None),
    "null for text": ({"MODELS__0__POOLS__BASELINE__ENGINE_MODEL": ""}, "models.0.pools.baseline.engine_model", None),
    "text that spells a number of another model": (
        {"MODELS__0__POOLS__BASELINE__ENGINE_MODEL": "1e3"},
        "models.0.pools.baseline.engine_model",
        "1e3",
    ),
    "a policy left without kind": ({"MODELS__0__POLICY": "{threshold: 3}"}, "models.0.policy.threshold", 3),
    "a pool in a cluster": (
        {"MODELS__0__POOLS__BASELINE__DISCOVERY": "{kubernetes: {service: k2, port: 8000}}"},
        "models.0.pools.baseline.discovery.kubernetes.port",
        "8000",
    ),
    "a URL": (
        {"MODELS__0__POOLS__BASELINE__DISCOVERY__STATIC__0": "http://b:2"},
        "models.0.pools.baseline.discovery.static",
        ("http://b:2",),
    ),
}


def at(config: Any, place: str) -> object:
    for step in place.split("."):
        config = config[int(step)] if step.isdigit() else getattr(config, step)
    return config


@pytest.mark.parametrize("name", APPLIED)
def test_applied(name: str, tmp_path: Path) -> None:
    variables, place, value = APPLIED[name]
    env = {f"SPILLWAY_{key}": text for key, text in variables.items()}
    found = at(load_config(write(tmp_path, FULL), env).config, place)
    assert found == value
    assert type(found) is type(value)


def test_kind_is_set_before_the_fields_that_it_gives_meaning(tmp_path: Path) -> None:
    env = {"SPILLWAY_MODELS__0__POLICY__POOL": "baseline", "SPILLWAY_MODELS__0__POLICY__KIND": "pinned"}
    policy = load_config(write(tmp_path, MODELS), env).config.models[0].policy
    assert policy == PinnedPolicy(kind="pinned", pool="baseline")


def test_the_fields_of_an_unknown_kind_are_not_known(tmp_path: Path) -> None:
    env = {"SPILLWAY_MODELS__0__POLICY__ALLOW_PINNING": "true", "SPILLWAY_MODELS__0__POLICY__KIND": "pined"}
    assert [(problem.variable, problem.reason) for problem in problems(write(tmp_path, MODELS), env)] == [
        (
            "SPILLWAY_MODELS__0__POLICY__ALLOW_PINNING",
            "models[0].policy.kind must be right before 'allow_pinning' can be set",
        ),
        (
            "SPILLWAY_MODELS__0__POLICY__KIND",
            "must be one of threshold, adaptive, pinned, not 'pined'; did you mean 'pinned'?",
        ),
    ]


def test_a_model_can_be_added(tmp_path: Path) -> None:
    env = {
        "SPILLWAY_MODELS__1__NAME": "n",
        "SPILLWAY_MODELS__1__POOLS__BASELINE__DISCOVERY__STATIC": "['http://b:1']",
    }
    models = load_config(write(tmp_path, MODELS), env).config.models
    assert [model.name for model in models] == ["m", "n"]


def test_entries_are_added_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    env = {f"SPILLWAY_MODELS__0__ALIASES__{number}": f"k{number}" for number in range(12)}
    aliases = load_config(write(tmp_path, MODELS), env).config.models[0].aliases
    assert aliases == tuple(f"k{number}" for number in range(12))


def test_one_pool_is_changed_where_two_share_an_anchor(tmp_path: Path) -> None:
    text = """\
models:
  - name: m
    pools:
      speculative: &pool {discovery: {kubernetes: {labels: {app: a}}}}
      baseline: *pool
"""
    env = {"SPILLWAY_MODELS__0__POOLS__BASELINE__MAX_INFLIGHT": "7"}
    pools = load_config(write(tmp_path, text), env).config.models[0].pools
    assert pools.speculative is not None
    assert pools.baseline is not None
    assert (pools.speculative.max_inflight, pools.baseline.max_inflight) == (128, 7)


# What Kubernetes sets for Services named spillway, spillway-admin and spillway-a--b, and variables of other purposes.
NOT_OURS = {
    "SPILLWAY_CONFIG": "/etc/spillway/spillway.yaml",
    "SPILLWAY_SERVICE_HOST": "10.0.0.1",
    "SPILLWAY_SERVICE_PORT": "80",
    "SPILLWAY_SERVICE_PORT_HTTP": "80",
    "SPILLWAY_PORT": "tcp://10.0.0.1:80",
    "SPILLWAY_PORT_80_TCP": "tcp://10.0.0.1:80",
    "SPILLWAY_PORT_80_TCP_PROTO": "tcp",
    "SPILLWAY_PORT_80_TCP_PORT": "80",
    "SPILLWAY_PORT_80_TCP_ADDR": "10.0.0.1",
    "SPILLWAY_ADMIN_SERVICE_HOST": "10.0.0.1",
    "SPILLWAY_ADMIN_PORT": "tcp://10.0.0.1:80",
    "SPILLWAY_ADMIN_PORT_53_UDP": "udp://10.0.0.1:53",
    "SPILLWAY_A__B_SERVICE_HOST": "10.0.0.1",
    "SPILLWAY_A__B_SERVICE_PORT": "80",
    "SPILLWAY_A__B_PORT": "tcp://10.0.0.1:80",
    "SPILLWAY_A__B_PORT_80_TCP_ADDR": "10.0.0.1",
    "SPILLWAY_HOME": "/opt",
    "SPILLWAYX__LISTEN": "x",
    "LISTEN__PORT": "1",
    "HOME": "/root",
}


def test_variables_of_others_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, MODELS)
    assert load_config(path, NOT_OURS) == load_config(path, {})


# What looks like a field and sets none, and what was probably meant.
STRAYS = {
    "LISTEN_PORT": "LISTEN__PORT",
    "PORT": "LISTEN__PORT",
    "HOST": "LISTEN__HOST",
    "LOG_LEVEL": "LOG__LEVEL",
    "REDIS_KEY_PREFIX": "REDIS__KEY_PREFIX",
    "LIMITS_IDLE_SECONDS": "LIMITS__IDLE_SECONDS",
    "MODELS_0_POLICY_THRESHOLD": "MODELS__0__POLICY__THRESHOLD",
    "MODELS_0_POOLS_BASELINE_MAX_INFLIGHT": "MODELS__0__POOLS__BASELINE__MAX_INFLIGHT",
    "THRESHOLD": "MODELS__0__POLICY__THRESHOLD",
}


@pytest.mark.parametrize("name", STRAYS)
def test_a_variable_that_sets_nothing_is_named(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, MODELS)
    loaded = load_config(path, {f"SPILLWAY_{name}": "9000"})
    assert loaded.config == load_config(path, {}).config
    meant = f"did you mean SPILLWAY_{STRAYS[name]}?"
    assert loaded.warnings == (f"the environment variable SPILLWAY_{name} sets nothing: {meant}",)


def test_a_variable_that_holds_a_key_is_put_to_use(tmp_path: Path) -> None:
    path = write(tmp_path, MODELS + "redis: {urls: ['redis://r'], password: '${SPILLWAY_REDIS_PASSWORD}'}\n")
    assert load_config(path, {"SPILLWAY_REDIS_PASSWORD": "s3cret"}).warnings == ()


# The variable and its value, then the field and the reason.
REFUSED = {
    "field of another kind": (
        "MODELS__0__POLICY__POOL",
        "baseline",
        "",
        "models[0].policy.pool: only with kind: pinned, and this is kind: threshold: change that, or leave pool out",
    ),
    "unknown field": ("LISTEN__PROT", "1", "", "unknown field 'prot'; did you mean SPILLWAY_LISTEN__PORT?"),
    "unknown section": ("LISTN__PORT", "1", "", "unknown field 'listn'; did you mean SPILLWAY_LISTEN__PORT?"),
    "unlike any field": ("LOG__ZZZ", "1", "", "log.zzz: unknown field; valid here: level, access"),
    "field at the wrong place": ("LOG__THRESHOLD", "1", "", "it belongs at models[].policy.threshold"),
    "unknown field in a list": (
        "MODELS__0__POLICY__TRESHOLD",
        "1",
        "",
        "did you mean SPILLWAY_MODELS__0__POLICY__THRESHOLD?",
    ),
    "no number": ("MODELS__M__NAME", "x", "", "'m' is no entry of models: give its number, 0 to 1 (1 adds one)"),
    "number too high": ("MODELS__2__NAME", "x", "", "'2' is no entry of models: give its number, 0 to 1"),
    "number of an empty list": ("MODELS__0__ALIASES__1", "x", "", "give its number, 0 (0 adds one)"),
    "beyond a value": ("LISTEN__PORT__X", "1", "", "listen.port is a single value and has no 'x'"),
    "beyond labels": (
        "MODELS__0__POOLS__BASELINE__DISCOVERY__KUBERNETES__LABELS__APP",
        "x",
        "",
        "discovery.kubernetes.labels can only be set as a whole, such as '{app: k2}'",
    ),
    "empty step": ("LISTEN____PORT", "1", "", "unknown field"),
    "bad value": ("LISTEN__PORT", "x", "listen.port", "must be a whole number, not 'x'"),
    "out of range": ("MODELS__0__POLICY__THRESHOLD", "0", "models[0].policy.threshold", "must be at least 1, not 0"),
    "empty": ("LISTEN__PORT", "", "listen.port", "is empty: give it a value, or remove it to use the default"),
    "empty text": ("LISTEN__HOST", "", "listen.host", "must be an address or a host name"),
    "not YAML": ("LISTEN", "{port: [", "", "the value is not valid YAML"),
    "field twice": ("LISTEN", "{port: 1, port: 2}", "", "port: given twice"),
    "unknown field in the value": ("LISTEN", "{prot: 1}", "listen.prot", "unknown field; did you mean 'port'?"),
    "list as text": ("MODELS__0__ALIASES", "k2", "models[0].aliases", "must be a list, not text"),
    "incomplete model": ("MODELS__1__NAME", "n", "models[1].pools", "is required: the engines that serve it"),
    "name given twice": ("MODELS__0__ALIASES", "[m]", "models[0].aliases[0]", "'m' is already a name of models[0]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    key, value, field, reason = REFUSED[name]
    (problem,) = problems(write(tmp_path, FULL), {f"SPILLWAY_{key}": value})
    assert (problem.variable, problem.field, problem.line) == (f"SPILLWAY_{key}", field, None)
    assert reason in problem.reason
    assert str(problem).startswith(f"environment variable SPILLWAY_{key}: ")


def test_two_spellings_of_one_variable_are_refused(tmp_path: Path) -> None:
    found = problems(write(tmp_path, MODELS), {"SPILLWAY_LISTEN__PORT": "1", "SPILLWAY_listen__port": "2"})
    assert [problem.reason for problem in found] == ["sets the same field as SPILLWAY_LISTEN__PORT: keep one"]


def test_a_variable_cannot_reach_into_what_the_file_has_wrong(tmp_path: Path) -> None:
    found = problems(write(tmp_path, MODELS + "listen: 80\n"), {"SPILLWAY_LISTEN__PORT": "1"})
    assert [(problem.variable, problem.line, problem.reason) for problem in found] == [
        (None, 5, "must be a mapping of fields, not a single value"),
        (
            "SPILLWAY_LISTEN__PORT",
            None,
            "listen is not a mapping in the file, so no field of it can be set",
        ),
    ]


def test_problems_of_file_and_environment_are_reported_together(tmp_path: Path) -> None:
    found = problems(
        write(tmp_path, MODELS + "log: {level: loud}\n"),
        {"SPILLWAY_LISTEN__PORT": "x", "SPILLWAY_DRAIN__DELAY": "1", "SPILLWAY_PORT": "tcp://10.0.0.1:80"},
    )
    assert [problem.variable or problem.line for problem in found] == [
        5,
        "SPILLWAY_DRAIN__DELAY",
        "SPILLWAY_LISTEN__PORT",
    ]
