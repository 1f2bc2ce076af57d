"""A real gateway on the rendered configuration, asked by the kubelet's probes and by what `helm test` runs."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import Object, container, gateway_file, render
from tests.support.behaviours import fail
from tests.support.engine import FakeEngine
from tests.support.gateway import Gateway, gateway
from tests.support.threads import EngineThread

KEY = "sk-client"
HERE = {"host": "127.0.0.1", "port": 0}


@dataclass(frozen=True)
class Installed:
    """What was rendered, and the gateway that runs from it."""

    gateway: Gateway
    engines: list[FakeEngine]
    container: Object
    test: Object
    keys: Path

    def helm_test(self, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the test pod's command with its environment, where the gateway is here."""
        given = {it["name"]: it["value"] for it in self.test["env"]}
        assert given["GATEWAY_URL"] == "http://rel-spillway.llm:80"
        assert given["KEYS_FILE"] == "/etc/spillway-keys/keys"
        given |= {"GATEWAY_URL": self.gateway.base_url, "KEYS_FILE": str(self.keys)}
        [python, *flags] = self.test["command"]
        assert python == "python"
        return subprocess.run(
            [sys.executable, *flags, *self.test["args"]], env=given | env, capture_output=True, text=True, timeout=30
        )


@pytest.fixture(scope="module")
def installed(engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"# of the test\n\n{KEY}\n")
    with engine_thread.engines(2) as engines:
        pools = {
            role: {"engine": "sglang", "discovery": {"static": [engine.url]}}
            for role, engine in zip(("speculative", "baseline"), engines, strict=True)
        }
        values = {"models": [{"name": "kimi-k2.5", "pools": pools}], "auth": {"keysSecret": {"name": "client-keys"}}}
        rendered = render(values)

        def write(path: Path, settings: dict[str, Any] | str) -> None:
            assert isinstance(settings, dict)
            # As it stands in the ConfigMap, but for the addresses and the Secret's folder, which are the pod's.
            file = yaml.safe_load(gateway_file(rendered).replace("/etc/spillway-keys/keys", str(keys)))
            drain = {"delay_seconds": 0, "timeout_seconds": 5}
            path.write_text(yaml.safe_dump(file | {"listen": settings["listen"], "admin": HERE, "drain": drain}))

        with gateway({}, write=write) as running:
            deployment, test = rendered.one("Deployment"), rendered.one("Pod")
            yield Installed(running, engines, container(deployment), container(test), keys)


def test_the_probes_are_answered(installed: Installed) -> None:
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert installed.gateway.get(installed.container[probe]["httpGet"]["path"]).status_code == 200


def test_the_completion_succeeds_and_says_where_it_was_made(installed: Installed) -> None:
    done = installed.helm_test()
    assert (done.returncode, done.stderr) == (0, "")
    assert "x-spillway-pool: speculative" in done.stdout
    assert "kimi-k2.5: " in done.stdout


def test_a_wrong_key_fails_at_once(installed: Installed, tmp_path: Path) -> None:
    wrong = tmp_path / "keys"
    wrong.write_text("sk-wrong\n")
    done = installed.helm_test(KEYS_FILE=str(wrong))
    assert done.returncode == 1
    assert "kimi-k2.5: 401 Unauthorized" in done.stderr
    assert "The API key is not valid." in done.stderr


def test_a_model_that_is_not_there_fails(installed: Installed) -> None:
    done = installed.helm_test(MODELS='["kimi-k2.5", "gone"]')
    assert done.returncode == 1
    assert "gone: 404 Not Found" in done.stderr


def test_engines_that_fail_are_asked_again_until_they_answer(installed: Installed) -> None:
    for engine in installed.engines:
        engine.script.extend([fail(503)] * 2)
    done = installed.helm_test()
    assert done.returncode == 0
    assert "kimi-k2.5: 503 Service Unavailable" in done.stderr


def test_it_gives_up_in_the_end(installed: Installed) -> None:
    done = installed.helm_test(GATEWAY_URL="http://127.0.0.1:1", TIMEOUT_SECONDS="1")
    assert done.returncode == 1
    assert "kimi-k2.5: error ConnectError" in done.stderr
