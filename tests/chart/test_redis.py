"""Gateways that share their counts: with the bundled Redis, and with one of the operator's."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests.chart.cases import CASES
from tests.chart.helm import Object, Values, container, example, gateway_file, render
from tests.docs.session import free_port
from tests.support.config import config, model, pool
from tests.support.gateway import gateway as gateway_process
from tests.support.site import CHAT, chat
from tests.support.threads import EngineThread

BUNDLED, SENTINELS = CASES["bundled Redis"], CASES["Sentinels"]
PASSWORD = "of-the-secret"


def section(values: Values) -> Object:
    """The gateway's `redis` section."""
    found = yaml.safe_load(gateway_file(render(values)))["redis"]
    assert isinstance(found, dict)
    return found


def gateway(values: Values) -> Object:
    return render(values).one("Deployment", "gateway")


def external(**fields: object) -> Values:
    return example("byo-engines") | {"config": {"redis": {"urls": ["redis://r:1"], **fields}}}


def test_with_a_redis_there_are_two_gateways() -> None:
    assert gateway(BUNDLED)["spec"]["replicas"] == 2
    assert gateway(external())["spec"]["replicas"] == 2
    assert gateway(example("small"))["spec"]["replicas"] == 1
    assert gateway(external() | {"gateway": {"replicas": 1}})["spec"]["replicas"] == 1


def test_gateways_know_how_many_they_are() -> None:
    assert section(BUNDLED)["expected_gateways"] == 2
    assert section(external() | {"gateway": {"replicas": 7}})["expected_gateways"] == 7
    assert section(external() | {"gateway": {"replicas": 0}})["expected_gateways"] == 1
    assert section(external(expected_gateways=9))["expected_gateways"] == 9
    # With an autoscaler the most there may be: who can't ask takes no more than its share.
    assert section(SENTINELS)["expected_gateways"] == 5


def test_releases_do_not_share_counts_unless_told_to() -> None:
    assert section(external())["key_prefix"] == "spillway:llm:rel-spillway"
    assert section(external(key_prefix="all"))["key_prefix"] == "all"


def test_passwords_come_from_secrets() -> None:
    assert section(BUNDLED)["password"] == "${REDIS_PASSWORD}"
    assert section(SENTINELS)["sentinel_password"] == "${REDIS_SENTINEL_PASSWORD}"
    env = {
        it["name"]: it["valueFrom"]["secretKeyRef"]
        for it in container(gateway(SENTINELS))["env"]
        if "REDIS" in it["name"]
    }
    assert env == {
        "REDIS_PASSWORD": {"name": "redis-password", "key": "password"},
        "REDIS_SENTINEL_PASSWORD": {"name": "sentinel-password", "key": "s"},
    }
    assert "password" not in section(external())


def test_an_authority_is_mounted() -> None:
    assert section(SENTINELS)["tls"] == {"ca_file": "/etc/spillway-redis/ca.crt"}
    pod = gateway(SENTINELS)["spec"]["template"]["spec"]
    [volume] = [it["secret"] for it in pod["volumes"] if it["name"] == "redis-ca"]
    assert volume["secretName"] == "redis-ca"
    assert volume["items"] == [{"key": "authority.pem", "path": "ca.crt"}]


def test_gateways_start_anew_for_another_redis_and_for_nothing_else() -> None:
    """They take over all but this section while they run."""
    plain = external()
    elsewhere, logging = external(database=1), external()
    logging["config"]["log"] = {"level": "debug"}
    template = gateway(plain)["spec"]["template"]
    assert gateway(elsewhere)["spec"]["template"] != template
    assert gateway(logging)["spec"]["template"] == template
    kept = plain | {"gateway": {"podAnnotations": {"a": "b"}}}
    assert set(gateway(kept)["spec"]["template"]["metadata"]["annotations"]) == {"a", "spillway/redis"}
    assert "annotations" not in gateway(example("small"))["spec"]["template"]["metadata"]


def test_the_bundled_server_has_no_rights_and_keeps_nothing() -> None:
    deployment = render(BUNDLED).one("Deployment", "redis")
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    only = container(deployment)
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(only["resources"]) == {"requests", "limits"}
    assert [volume["emptyDir"] for volume in pod["volumes"]] == [{"sizeLimit": "64Mi"}]
    assert not render(SENTINELS).of_kind("Deployment", "redis")


def test_only_gateways_reach_the_bundled_server() -> None:
    rendered = render(BUNDLED)
    spec = rendered.one("NetworkPolicy", "redis")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in spec
    [rule] = spec["ingress"]
    assert rule["from"] == [{"podSelector": gateway(BUNDLED)["spec"]["selector"]}]
    redis = rendered.one("Deployment", "redis")["spec"]["selector"]
    assert {"to": [{"podSelector": redis}]} in rendered.one("NetworkPolicy", "gateway")["spec"]["egress"]


def test_narrowed_gateways_reach_the_operators_redis() -> None:
    egress = render(SENTINELS).one("NetworkPolicy", "gateway")["spec"]["egress"]
    assert {"ports": [{"port": 26379}, {"port": 26380}, {"port": 6379}]} in egress
    narrow = {"networkPolicy": {"egress": {"enabled": True}}}
    assert {"ports": [{"port": 1}]} in render(external() | narrow).one("NetworkPolicy", "gateway")["spec"]["egress"]


@contextmanager
def served(values: Values, folder: Path) -> Iterator[tuple[Object, int]]:
    """A real server with the arguments of the bundled one, but for its port and folder."""
    only = container(render(values).one("Deployment", "redis"))
    with free_port() as port:
        pass
    here = {"6379": str(port), "/data": str(folder), "$(REDISCLI_AUTH)": PASSWORD}
    arguments = [here.get(argument, argument) for argument in only["args"]]
    with subprocess.Popen([*only["command"], *arguments], stdout=subprocess.DEVNULL) as server:
        try:
            yield only, port
        finally:
            server.terminate()


def probed(probe: Object, port: int, password: str | None) -> str:
    """What a probe's command prints, with its time to start."""
    command = probe["exec"]["command"]
    env = {**os.environ, **({"REDISCLI_AUTH": password} if password else {})}
    deadline = time.monotonic() + 10
    while True:
        done = subprocess.run([command[0], "-p", str(port), *command[1:]], env=env, capture_output=True, text=True)
        if done.returncode == 0 or time.monotonic() > deadline:
            return done.stdout.strip()
        time.sleep(0.05)


@pytest.mark.parametrize("secret", ["redis-password", ""])
def test_a_real_server_starts_with_these_arguments(secret: str, tmp_path: Path) -> None:
    values = BUNDLED | {"redis": {"bundled": {"enabled": True}, "passwordSecret": {"name": secret}}}
    with served(values, tmp_path) as (only, port):
        password = PASSWORD if secret else None
        assert {probed(only[f"{name}Probe"], port, password) for name in ("startup", "readiness", "liveness")} == {
            "PONG"
        }
        assert ("env" in only) == bool(secret)
        if secret:
            refused = subprocess.run(["redis-cli", "-p", str(port), "dbsize"], capture_output=True, text=True)
            assert "NOAUTH" in refused.stdout
    assert list(tmp_path.iterdir()) == [], "it keeps nothing"


def test_a_gateway_of_the_chart_counts_in_it(engine_thread: EngineThread, tmp_path: Path) -> None:
    """With the section of its ConfigMap and the password of the Secret, under the release's own keys."""
    (tmp_path / "data").mkdir()
    with (
        served(BUNDLED, tmp_path / "data") as (only, port),
        engine_thread.engines(1) as [engine],
    ):
        assert probed(only["startupProbe"], port, PASSWORD) == "PONG"
        redis = section(BUNDLED) | {"urls": [f"redis://127.0.0.1:{port}"]}
        settings = config(model(pool([engine.url])), redis=redis)
        with gateway_process(settings, env={"REDIS_PASSWORD": PASSWORD}) as running:
            deadline = time.monotonic() + 10
            while running.metrics().total("spillway_redis_up", model="fake") != 1:
                assert time.monotonic() < deadline, running.output()
                time.sleep(0.05)
            answer = httpx.post(f"{running.base_url}{CHAT}", json=chat(), trust_env=False)
            assert answer.status_code == 200
            command = ["redis-cli", "-p", str(port), "keys", "*"]
            env = os.environ | {"REDISCLI_AUTH": PASSWORD}
            keys = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()
    assert keys
    assert all(key.startswith("spillway:llm:rel-spillway:") for key in keys)
