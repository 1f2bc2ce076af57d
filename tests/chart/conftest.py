"""Brings helm and kubectl, and a cluster for them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chart.cluster import Cluster
from tests.chart.helm import REPOSITORY
from tests.chart.storage import HelmServer


@pytest.fixture(scope="session", autouse=True)
def helm() -> None:
    """Install helm and kubectl where they are missing."""
    subprocess.run(["bash", "scripts/kube-tools.sh"], cwd=REPOSITORY, check=True, capture_output=True, timeout=100)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """An empty one."""
    with HelmServer(tls=True) as server:
        yield Cluster(server, tmp_path)
