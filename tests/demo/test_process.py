"""Children of the demo end when they are told to, and when their parent dies without telling them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.demo.process import Child, ChildFailedError

SERVER = """\
import signal, sys
from gateway.demo.process import Child
with Child("child", "http.server", ["0", "--bind", "127.0.0.1"]) as child:
    print(child.pid, flush=True)
    signal.pause()
"""
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\nsignal.pause()\n"


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_does_not_outlive_its_parent(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not is_gone(child)
        parent.send_signal(number)
    assert eventually(lambda: is_gone(child))


def test_stop_ends_a_child_and_its_log_is_kept_for_reading(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Child("server", "http.server", ["0", "--bind", "127.0.0.1"], log) as child:
        child.wait_until(lambda: "Serving HTTP" in log.read_text(), 10)
        pid = child.pid
    assert is_gone(pid)
    assert not child.alive
    assert "Serving HTTP" in child.tail()


def test_stop_kills_a_child_that_ignores_sigterm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = Child("stubborn", "stubborn", [], tmp_path / "log")
    child.start()
    child.wait_until(lambda: "deaf" in child.tail(), 10)
    assert child.stop(grace=0.2) == -signal.SIGKILL


def test_a_child_that_ends_early_is_reported_with_the_end_of_its_log() -> None:
    child = Child("gateway", "gateway.cli", ["serve", "--config", "/nonexistent.yaml"])
    child.start()
    with pytest.raises(ChildFailedError, match=r"(?s)gateway ended with status 2.*nonexistent\.yaml"):
        child.wait_until(lambda: False, 30)
    child.stop()


def test_a_child_that_ended_is_not_ready_whoever_answers_in_its_place(tmp_path: Path) -> None:
    child = Child("server", "http.server", ["0", "--bind", "127.0.0.1"], tmp_path / "log")
    child.start()
    child.kill()
    with pytest.raises(ChildFailedError, match="server ended with status -9"):
        child.wait_until(lambda: True, 30)


def test_a_child_that_is_not_ready_in_time_is_reported() -> None:
    with (
        Child("server", "http.server", ["0", "--bind", "127.0.0.1"]) as child,
        pytest.raises(ChildFailedError, match="not ready after 0 s"),
    ):
        child.wait_until(lambda: False, 0.2)


def test_settings_of_another_gateway_do_not_reach_a_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPILLWAY_LISTEN__PORT", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "environment.py").write_text("import os\nprint(sorted(n for n in os.environ if 'SPILLWAY' in n))\n")
    with Child("environment", "environment", [], tmp_path / "log") as child:
        assert eventually(lambda: not child.alive)
        assert child.tail().strip() == "[]"
