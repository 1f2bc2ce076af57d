"""Load from wrk, one thread, connections kept alive."""

import json
import resource
import subprocess
from dataclasses import dataclass

from bench.paths import BENCH, tool


@dataclass(frozen=True)
class Load:
    """What the client saw: finished requests, the seconds they took together, latencies in milliseconds, failures."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    errors: int
    client_cpu: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


def command(port: int, *, stream: bool, connections: int, seconds: float, think_ms: float = 0.0) -> list[str]:
    """The wrk command line that asks 127.0.0.1:port for completions. For `think_ms` see `measure.Phase`."""
    return [
        tool("wrk"),
        "-t1",
        f"-c{connections}",
        f"-d{max(1, round(seconds))}s",
        "--timeout",
        "30s",
        "-s",
        str(BENCH / "wrk.lua"),
        f"http://127.0.0.1:{port}/v1/chat/completions",
        "--",
        str(stream).lower(),
        str(think_ms),
    ]


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(port: int, *, stream: bool, connections: int, seconds: float, think_ms: float = 0.0) -> Load:
    """Load a server and report what came of it. Raises RuntimeError if wrk itself fails."""
    before = _children_cpu()
    done = subprocess.run(
        command(port, stream=stream, connections=connections, seconds=seconds, think_ms=think_ms),
        capture_output=True,
        text=True,
        check=False,
    )
    summary = [line for line in done.stdout.splitlines() if line.startswith("summary ")]
    if done.returncode or not summary:
        raise RuntimeError(f"wrk failed with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return Load(**json.loads(summary[0].removeprefix("summary ")), client_cpu=_children_cpu() - before)
