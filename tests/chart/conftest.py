"""Brings helm."""

import subprocess

import pytest

from tests.chart.helm import REPOSITORY


@pytest.fixture(scope="session", autouse=True)
def helm() -> None:
    """Install helm where it is missing."""
    subprocess.run(["bash", "scripts/kube-tools.sh"], cwd=REPOSITORY, check=True, capture_output=True, timeout=100)
