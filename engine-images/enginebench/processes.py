"""Processes that outlive the command that started them, by their ids in a file."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

_FILE = "processes.json"


class DiedError(RuntimeError):
    """A process ended; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """A process that listens, and where to look whether it is ready."""

    name: str
    pid: int
    url: str
    path: str
    log: str

    def ready(self) -> bool:
        """Whether it answers. Raises DiedError if it has ended."""
        if not _alive(self.pid):
            raise DiedError(f"{self.name} has ended\n{self.tail()}")
        try:
            return httpx.get(f"{self.url}{self.path}", timeout=5, trust_env=False).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def tail(self) -> str:
        """The end of its log."""
        return "\n".join(Path(self.log).read_text(errors="replace").splitlines()[-30:])


def launch(state: Path, name: str, command: Sequence[str], env: Mapping[str, str], url: str, path: str) -> Server:
    """Start it in a session of its own, with its output in a log."""
    log = state / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(name, process.pid, url, path, str(log))
    remember(state, [*recall(state), server])
    return server


def wait(servers: Sequence[Server], seconds: float) -> list[Server]:
    """Those that are ready within `seconds`; says of the others why they are not."""
    started, ready, left = time.monotonic(), [], list(servers)
    while left and time.monotonic() - started < seconds:
        for server in tuple(left):
            try:
                if not server.ready():
                    continue
                print(f"{server.name} is ready after {time.monotonic() - started:.0f} s", flush=True)
                ready.append(server)
            except DiedError as error:
                print(error, flush=True)
            left.remove(server)
        time.sleep(0.5)
    for server in left:
        print(f"{server.name} is not ready after {seconds:.0f} s\n{server.tail()}", flush=True)
    return ready


def recall(state: Path) -> list[Server]:
    """What was started."""
    file = state / _FILE
    return [Server(**it) for it in json.loads(file.read_text())] if file.exists() else []


def remember(state: Path, servers: Sequence[Server]) -> None:
    """Keep it for the next command."""
    fields = ("name", "pid", "url", "path", "log")
    (state / _FILE).write_text(json.dumps([{name: getattr(it, name) for name in fields} for it in servers]))


def end(state: Path) -> None:
    """Stop everything that was started, by its process groups."""
    for server in recall(state):
        for number, seconds in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
            try:
                os.killpg(server.pid, number)
            except ProcessLookupError:
                break
            deadline = time.monotonic() + seconds
            while _alive(server.pid) and time.monotonic() < deadline:
                time.sleep(0.1)
    remember(state, [])


def _alive(pid: int) -> bool:
    try:
        waited, _ = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        waited = 0
    if waited == pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
