"""A gateway in its container, with no more rights than in a pod: probes, a stream that outlives SIGTERM, discovery."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.image.base import REPOSITORY
from tests.image.image import UID, Container, Image, serving
from tests.image.store import ToolError
from tests.kube.apiserver import ApiServer
from tests.kube.shapes import NAMESPACE, SERVICE, endpoint, endpoint_slice
from tests.support.behaviours import answer
from tests.support.config import Settings, config, model
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.site import CHAT, chat, fake_model, open_stream
from tests.support.threads import EngineThread
from tests.support.wire import chat_events

# The first of them fetches and builds everything, if they are run alone.
pytestmark = pytest.mark.timeout(600)

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN = "token-of-the-pod"
DELAY = 2.0
STREAM = b"".join(chat_events(("one ", "two ", "three")))


@pytest.fixture
def engines(engine_thread: EngineThread) -> Iterator[list[FakeEngine]]:
    with engine_thread.engines(2) as started:
        yield started


def refuses(gateway: Container, seconds: float = 10.0) -> bool:
    """Whether its port refuses connections within this time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            gateway.get("/health")
        except httpx.TransportError:
            return True
        time.sleep(0.05)
    return False


async def test_a_stream_outlives_sigterm(image: Image, engines: list[FakeEngine], tmp_path: Path) -> None:
    gate = Gate()
    engines[0].respond = answer(hold=gate)
    drain = {"delay_seconds": DELAY, "timeout_seconds": 60.0}
    settings = config(fake_model([engines[0]], [engines[1]]), limits={"idle_seconds": 60}, drain=drain)
    with serving(image, settings, tmp_path) as gateway:
        gateway.wait("/health")
        gateway.wait("/ready")
        async with httpx.AsyncClient(base_url=gateway.base_url, timeout=30.0, trust_env=False) as client:
            held = await open_stream(client)
            gateway.terminate()
            gateway.wait("/ready", 503)
            assert refuses(gateway)
            gate.open()
            assert await held.aread() == STREAM
        assert gateway.exit_status() == 0
        assert '"status":200' in gateway.log().replace(" ", ""), "the request's line was written before the end"


def test_its_process_has_no_rights(gateway: Container) -> None:
    process = gateway.main_process()
    lines = (line.partition(":") for line in (process / "status").read_text().splitlines())
    status = {name: text.split() for name, _, text in lines}
    assert status["Uid"] == status["Gid"] == [str(UID)] * 4
    assert status["NSpid"][-1] == "1"
    assert {int(status[name][0], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == ["1"]
    assert "python" in (process / "cmdline").read_text().split("\0")[0], "signals reach the gateway, not a shell"


def test_it_can_write_to_tmp_alone(gateway: Container) -> None:
    gateway.run("touch", "/tmp/written")
    for folder in ("/opt/spillway", "/etc/spillway", "/var/tmp", "/run", "/"):
        with pytest.raises(ToolError, match=r"Read-only file system|Permission denied"):
            gateway.run("touch", f"{folder}/written")


def test_the_charts_test_runs_in_it(gateway: Container) -> None:
    program = (REPOSITORY / "deploy" / "helm" / "spillway" / "files" / "completion.py").read_text()
    environment = [f"GATEWAY_URL={gateway.base_url}", 'MODELS=["fake"]', "TIMEOUT_SECONDS=20"]
    assert "x-spillway-pool: speculative" in gateway.run("env", *environment, "python", "-c", program)


def test_it_finds_engines_as_a_pod_does(image: Image, engines: list[FakeEngine], tmp_path: Path) -> None:
    etc, account = tmp_path / "etc", tmp_path / "account"
    etc.mkdir()
    account.mkdir()
    with ApiServer(tls=True) as server:
        server.access.allow("spillway", NAMESPACE, "endpointslices", "get", "list", "watch")
        server.access.issue(TOKEN, "spillway")
        port = {"name": "http", "port": engines[0].port, "protocol": "TCP"}
        server.put(endpoint_slice("a", [endpoint("127.0.0.1")], ports=[port]))
        for name, text in (("token", TOKEN), ("ca.crt", server.ca), ("namespace", NAMESPACE)):
            (account / name).write_text(text)
        account.chmod(0o755)
        mount = f"--volume={account}:{ACCOUNT}:ro"
        where = ("--env=KUBERNETES_SERVICE_HOST=127.0.0.1", f"--env=KUBERNETES_SERVICE_PORT={server.port}")
        found: Settings = {"discovery": {"kubernetes": {"service": SERVICE, "port": "http"}}}
        with serving(image, config(model(found)), etc, options=[mount, *where]) as gateway:
            gateway.wait("/ready")
            reply = httpx.post(f"{gateway.base_url}{CHAT}", json=chat(), timeout=10.0, trust_env=False)
            assert reply.status_code == 200
            assert reply.headers["x-spillway-replica"] == engines[0].label
