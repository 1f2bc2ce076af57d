"""An address that is taken: which of the two is said, before anything claims to listen."""

import errno
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.config import Listen
from gateway.server import unlistenable
from tests.config.support import MODELS, write


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


@pytest.mark.parametrize("name", ["listen", "admin"])
def test_an_address_that_is_taken(name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = {"listen": free_port(), "admin": free_port(), name: taken.getsockname()[1]}
        addresses = "".join(f"{key}: {{host: 127.0.0.1, port: {port}}}\n" for key, port in ports.items())
        path = write(tmp_path, MODELS + addresses)
        command = [sys.executable, "-m", "gateway.cli", "serve", "--config", str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    remedy = f"stop what listens there, or set {name}.port, or SPILLWAY_{name.upper()}__PORT"
    assert ended.stderr == f"{name}: can't listen on 127.0.0.1:{ports[name]}: address already in use: {remedy}\n"
    assert ended.stdout == ""


def test_a_host_that_is_not_this_machines(tmp_path: Path) -> None:
    path = write(tmp_path, MODELS + "listen: {host: nowhere.invalid, port: 0}\n")
    command = [sys.executable, "-m", "gateway.cli", "serve", "--config", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("listen: can't listen on nowhere.invalid:0: ")
    assert ended.stderr.endswith(": set listen.host, or SPILLWAY_LISTEN__HOST, to an address of this machine\n")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, ": permission denied: ports below 1024 take a privilege: set listen.port, or SPILLWAY_"),
        (errno.EADDRNOTAVAIL, ": cannot assign requested address: set listen.host, or SPILLWAY_LISTEN__HOST, to an"),
        (errno.ENOBUFS, ": no buffer space available: set listen.port, or SPILLWAY_LISTEN__PORT"),
    ],
)
def test_what_a_test_can_not_have(number: int, remedy: str) -> None:
    listen = Listen(host="10.0.0.1", port=80)
    assert f"listen: can't listen on 10.0.0.1:80{remedy}" in unlistenable("listen", listen, OSError(number, "x"))
