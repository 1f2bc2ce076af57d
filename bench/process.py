"""Servers as child processes: started with a log of their own, asked until they answer, stopped for certain."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.paths import SetupError

START_SECONDS = 60.0
STOP_SECONDS = 10.0


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running(argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A child whose output goes to `log`; it is terminated at the end, and killed if it does not heed that."""
    with log.open("wb") as output:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=log.parent,
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def wait_until(ready: Callable[[], bool], child: subprocess.Popen[bytes], log: Path) -> None:
    """Poll until a child is ready. Raises SetupError with the end of its log if it ends, or is not after a minute."""
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        ended = child.poll() is not None
        if ended or time.monotonic() > deadline:
            what = f"ended with {child.returncode}" if ended else f"was not ready after {START_SECONDS:.0f} s"
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise SetupError(f"{log.stem} {what}; the end of {log}:\n{tail}")
        time.sleep(0.05)
