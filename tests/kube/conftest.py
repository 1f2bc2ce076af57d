"""The API server's stand-in, and real kubectl against it."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kube.apiserver import ApiServer
from tests.kube.shapes import NAMESPACE

REPOSITORY = Path(__file__).parents[2]
Kubectl = Callable[..., str]


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer(tls=True) as running:
        yield running


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Found by this process and by those it starts."""
    path = server.kubeconfig(tmp_path / "kubeconfig", namespace=NAMESPACE)
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture(scope="session")
def kube_tools() -> Path:
    """The folder with helm and kubectl."""
    subprocess.run(["bash", REPOSITORY / "scripts" / "kube-tools.sh"], check=True, timeout=100)
    return REPOSITORY / ".cache" / "bin"


@pytest.fixture
def kubectl(kube_tools: Path, kubeconfig: Path, tmp_path: Path) -> Kubectl:
    """Runs kubectl with these arguments and returns what it prints; raises CalledProcessError where it fails."""

    def run(*arguments: str, stdin: str | None = None) -> str:
        options = [f"--kubeconfig={kubeconfig}", f"--cache-dir={tmp_path / 'cache'}"]
        command = [str(kube_tools / "kubectl"), *options, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True, timeout=30)
        return done.stdout

    return run
