"""The fake engines behind every proxy: built from engine.c, one process for each pool."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import httpx

from bench.meter import process_clock
from bench.paths import BENCH, BUILD, SetupError, tool
from bench.process import free_port, running, wait_until

CHUNKS = 100
GAP_US = 5000
EVENTS_PER_STREAM = CHUNKS + 1  # and [DONE]
FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-pthread")


@dataclass(frozen=True)
class Counters:
    """What an engine has served: requests begun, streams finished, events written (withheld usage left out)."""

    requests: int = 0
    streams: int = 0
    events: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(self.requests + other.requests, self.streams + other.streams, self.events + other.events)

    def __sub__(self, other: "Counters") -> "Counters":
        return Counters(self.requests - other.requests, self.streams - other.streams, self.events - other.events)


@dataclass(frozen=True)
class Engines:
    """Two engines with the same settings: a speculative and a baseline pool, or a plain proxy's two backends."""

    ports: tuple[int, int]
    pids: tuple[int, int]

    def counters(self) -> Counters:
        """Both engines' counters together."""
        total = Counters()
        for port in self.ports:
            total += Counters(**httpx.get(f"http://127.0.0.1:{port}/stats").json())
        return total

    def cpu_seconds(self) -> float:
        """CPU seconds of both engines."""
        return sum(process_clock(pid) for pid in self.pids)


def build() -> str:
    """Compile the engine unless it is newer than its source; returns its path. Raises SetupError if that fails."""
    source, target = BENCH / "engine.c", BUILD / "engine"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(exist_ok=True)
        done = subprocess.run([tool("gcc"), *FLAGS, "-o", str(target), str(source)], capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"engine.c does not compile:\n{done.stderr}")
    return str(target)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health").is_success
    except httpx.TransportError:
        return False


@contextlib.contextmanager
def engines() -> Iterator[Engines]:
    """Two running engines."""
    binary = build()
    with contextlib.ExitStack() as stack:
        ports, pids = [], []
        for name in ("speculative", "baseline"):
            port, log = free_port(), BUILD / f"engine-{name}.log"
            child = stack.enter_context(running([binary, str(port), str(CHUNKS), str(GAP_US)], log))
            wait_until(partial(_answers, port), child, log)
            ports.append(port)
            pids.append(child.pid)
        yield Engines((ports[0], ports[1]), (pids[0], pids[1]))
