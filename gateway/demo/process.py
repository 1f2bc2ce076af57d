"""A Python module run as a process of its own, which cannot outlive the process that started it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

TAIL_LINES = 15


class ChildFailedError(RuntimeError):
    """A child ended, or was not ready in time. The message has the end of its log."""


class Child:
    """`python -m module arguments`, with its output in a log file. A context manager that stops it at the end.

    It runs in a session of its own: Ctrl-C reaches the parent alone, which then stops its children in order.
    """

    def __init__(self, name: str, module: str, arguments: Sequence[str], log: Path | None = None) -> None:
        self.name = name
        self.arguments = list(arguments)
        self._module = module
        self._given_log = log
        self._own_log: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Where its standard output and error go."""
        if self._given_log is not None:
            return self._given_log
        if self._own_log is None:
            self._own_log = tempfile.TemporaryDirectory(prefix="spillway-")
        return Path(self._own_log.name) / f"{self.name}.log"

    @property
    def pid(self) -> int:
        """The process id. Raises ChildFailedError when it was never started."""
        if self._process is None:
            raise ChildFailedError(f"{self.name} has not been started")
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it; returns at once. A child that has ended may be started again."""
        if self.alive:
            raise ChildFailedError(f"{self.name} runs already")
        # The parent's own SPILLWAY_* settings are for another gateway.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SPILLWAY_")}
        environment["PYTHONUNBUFFERED"] = "1"  # or the last lines before a crash would be missing from the log
        command = [sys.executable, "-m", "gateway.demo.child", self._module, *self.arguments]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Polls `ready` until it is true. Raises ChildFailedError if the child ends, or after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not ready():
            self.check_alive()
            if time.monotonic() > deadline:
                raise ChildFailedError(
                    f"{self.name} was not ready after {timeout:.0f} s; the end of its log:\n{self.tail()}"
                )
            time.sleep(0.05)
        self.check_alive()  # what was ready may not have been this child

    def check_alive(self) -> None:
        """Raises ChildFailedError, with the end of its log, if it does not run."""
        if not self.alive:
            status = self._process.returncode if self._process else None
            raise ChildFailedError(f"{self.name} ended with status {status}; the end of its log:\n{self.tail()}")

    def stop(self, grace: float = 5.0) -> int | None:
        """SIGTERM, and SIGKILL after `grace` seconds. Returns its exit status; None if never started."""
        if self._process is None:
            return None
        self._process.terminate()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return self._reap(self._process)

    def kill(self) -> None:
        """SIGKILL, as a crash would be."""
        if self._process is not None:
            self._process.kill()
            self._reap(self._process)

    def tail(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(f"    {line}" for line in lines[-TAIL_LINES:])

    def _reap(self, process: subprocess.Popen[bytes]) -> int:
        status = process.wait()
        if process.stdin is not None:
            process.stdin.close()
        return status

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        if self._own_log is not None:
            self._own_log.cleanup()
            self._own_log = None
