"""The gateway takes the configuration that the chart writes for it, and the rest of the chart agrees with it."""

from pathlib import Path

import pytest

from gateway.config import Config, Loaded, PoolConfig, ThresholdPolicy, load_config
from tests.chart.cases import CASES
from tests.chart.container import SECRET, laid_out
from tests.chart.helm import NAMESPACE, Object, Rendered, Values, container, example, gateway_file, render, small

EACH = pytest.mark.parametrize("values", list(CASES.values()), ids=list(CASES))


def load(rendered: Rendered, folder: Path) -> Loaded:
    """Load the file as the container would."""
    return load_config(*laid_out(rendered, folder))


def _gateway(rendered: Rendered) -> Object:
    return container(rendered.one("Deployment", "gateway"))


@EACH
def test_the_gateway_takes_it(values: Values, tmp_path: Path) -> None:
    config = load(render(values), tmp_path).config
    assert [model.name for model in config.models] == [model["name"] for model in values["models"]]


@EACH
def test_pools_are_those_of_the_values(values: Values, tmp_path: Path) -> None:
    rendered = render(values)
    for model, given in zip(load(rendered, tmp_path).config.models, values["models"], strict=True):
        assert list(model.aliases) == given.get("aliases", [])
        for role, pool in (("speculative", model.pools.speculative), ("baseline", model.pools.baseline)):
            assert (pool is not None) == (role in given["pools"])
            if pool is None:
                continue
            wanted = given["pools"][role].get("discovery")
            if wanted is None:
                assert pool.discovery.kubernetes is not None
                assert pool.discovery.kubernetes.namespace == NAMESPACE
                assert pool.discovery.kubernetes.port == "http"
                [service] = [
                    it
                    for it in rendered.of_kind("Service", "engine")
                    if it["metadata"]["name"] == pool.discovery.kubernetes.service
                ]
                assert service["metadata"]["labels"]["spillway/pool"] == role
            else:
                assert pool.discovery.model_dump(exclude_unset=True, mode="json") == wanted


@EACH
def test_a_gateway_has_time_to_drain(values: Values, tmp_path: Path) -> None:
    rendered = render(values)
    drain = load(rendered, tmp_path).config.drain
    pod = rendered.one("Deployment", "gateway")["spec"]["template"]["spec"]
    assert drain.delay_seconds + drain.timeout_seconds + 10 <= pod["terminationGracePeriodSeconds"]
    assert "lifecycle" not in pod["containers"][0]


@pytest.mark.parametrize(("delay", "timeout"), [(0, 0), (0.5, 0.5), (20, 3600), (15.25, 600)])
def test_the_grace_period_follows_the_drain(delay: float, timeout: float) -> None:
    values = example("byo-engines") | {"config": {"drain": {"delay_seconds": delay, "timeout_seconds": timeout}}}
    grace = render(values).one("Deployment", "gateway")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert delay + timeout + 15 <= grace <= delay + timeout + 17


@EACH
def test_ports_are_the_containers(values: Values, tmp_path: Path) -> None:
    rendered = render(values)
    config = load(rendered, tmp_path).config
    assert config.admin is not None
    ports = {port["name"]: port["containerPort"] for port in _gateway(rendered)["ports"]}
    assert ports == {"http": config.listen.port, "admin": config.admin.port}
    [port] = rendered.one("Service", "gateway")["spec"]["ports"]
    assert port["targetPort"] == "http"


@EACH
def test_no_secret_is_in_a_config_map(values: Values, tmp_path: Path) -> None:
    rendered = render(values)
    config = load(rendered, tmp_path).config
    assert config.auth.keys == ()
    env = {it["name"]: it for it in _gateway(rendered).get("env", [])}
    for index, model in enumerate(config.models):
        for role in ("speculative", "baseline"):
            pool = getattr(model.pools, role)
            if pool is not None and pool.api_key is not None:
                name = f"ENGINE_KEY_{index}_{role.upper()}"
                assert f"api_key: ${{{name}}}" in gateway_file(rendered)
                assert env[name]["valueFrom"]["secretKeyRef"]["name"] == "qwen-key"
    assert not any(it["kind"] == "Secret" for it in rendered)
    for config_map in rendered.of_kind("ConfigMap"):
        assert SECRET not in str(config_map)


@EACH
def test_no_variable_is_taken_for_a_setting(values: Values) -> None:
    pod = render(values).one("Deployment", "gateway")["spec"]["template"]["spec"]
    assert not any(it["name"].startswith("SPILLWAY_") for it in pod["containers"][0].get("env", []))
    assert pod["enableServiceLinks"] is False


def test_sections_reach_the_file(tmp_path: Path) -> None:
    values = CASES["everything"]
    config = load(render(values), tmp_path).config
    for name, section in values["config"].items():
        assert getattr(config, name).model_dump(exclude_unset=True) == section


def test_what_the_gateway_takes_is_not_refused(tmp_path: Path) -> None:
    at_the_limit, no_speculation, pinned = example("small"), small(maxInflight=4), small(maxInflight=4)
    at_the_limit["models"][0]["policy"] = {"threshold": 64}
    # A threshold counts for the speculative pool alone, and a pinned policy has none.
    no_speculation["models"][0]["policy"] = {"threshold": 5}
    del no_speculation["models"][0]["pools"]["speculative"]
    pinned["models"][0]["policy"] = {"kind": "pinned", "pool": "speculative"}
    for values in (at_the_limit, no_speculation, pinned):
        load(render(values), tmp_path)


def test_the_defaults_that_the_chart_assumes_are_the_gateways() -> None:
    """They stand in templates/_models.tpl a second time."""
    assert ThresholdPolicy().threshold == 5
    assert PoolConfig.model_fields["max_inflight"].default == 128


def test_clients_need_a_key_if_a_secret_is_named(tmp_path: Path) -> None:
    assert load(render(CASES["tls"]), tmp_path).client_keys == (SECRET,)
    assert load(render(CASES["static only"]), tmp_path).client_keys == ()


def test_clients_are_served_over_tls_if_a_secret_is_named() -> None:
    rendered = render(CASES["tls"])
    assert "/etc/spillway-tls/tls.crt" in gateway_file(rendered)
    probes = [_gateway(rendered)[name] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert {probe["httpGet"]["scheme"] for probe in probes} == {"HTTPS"}


@pytest.mark.parametrize("name", ["small", "everything", "pinned arm"])
def test_what_stands_in_front_waits_longer_than_the_gateway(name: str, tmp_path: Path) -> None:
    values = CASES[name] | {"ingress": {"enabled": True}}
    rendered = render(values)
    config = load(rendered, tmp_path).config
    annotations = rendered.one("Ingress")["metadata"]["annotations"]
    seconds = float(annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"])
    assert _longest_silence(config) <= seconds <= _longest_silence(config) + 1
    assert annotations["nginx.org/proxy-read-timeout"] == f"{seconds:.0f}s"
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == str(config.limits.body_bytes)


def _longest_silence(config: Config) -> float:
    attempts = config.retries.attempts * (config.limits.connect_seconds + config.limits.first_byte_seconds)
    return max(model.policy.queue.timeout for model in config.models) + attempts + config.limits.idle_seconds
