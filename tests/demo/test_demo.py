"""The demo as a user runs it: real engines, the real gateway, the official client."""

import socket
import subprocess
import sys

import pytest

DEMO = [sys.executable, "-m", "gateway.cli", "demo"]


@pytest.mark.timeout(400)
def test_the_demo_shows_what_it_claims() -> None:
    run = subprocess.run([*DEMO, "--check", "--port", "0"], capture_output=True, text=True, timeout=390, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    verdict = [line for line in run.stdout.splitlines() if line.startswith(("ok ", "FAILED"))]
    assert len(verdict) == 6
    assert all(line.startswith("ok ") for line in verdict)


def test_a_taken_port_is_refused_at_once_with_advice() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = subprocess.run([*DEMO, "--port", str(port)], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert f"Port {port} can't be used" in run.stderr
    assert "--port" in run.stderr
