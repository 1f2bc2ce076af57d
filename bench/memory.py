"""Whether a proxy's memory stays flat over many streams."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import wrk
from bench.engine import Engines
from bench.launch import load_running, proxy_target
from bench.measure import STREAMED
from bench.proxies.base import Proxy

POLL_SECONDS = 0.05
LIMIT_SECONDS = 600


@dataclass(frozen=True)
class MemoryCurve:
    """Resident MiB by streams finished, from a fresh process on."""

    points: tuple[tuple[int, float], ...]

    @property
    def growth(self) -> float:
        """From the first quarter (when every pool and cache has filled) to the end, as a share."""
        return self.points[-1][1] / self.points[1][1] - 1


def memory_over_streams(
    proxy: Proxy, engines: Engines, streams: int, progress: Callable[[int, float], None]
) -> MemoryCurve:
    """Load a fresh instance until the engines have finished `streams` streams; resident memory at each quarter.

    Raises RuntimeError if the load or the proxy ends before that.
    """
    with proxy_target(proxy, engines) as target:
        points = [(0, target.resident_mib())]
        progress(*points[0])
        before = engines.counters()
        argv = wrk.command(target.port, stream=True, connections=STREAMED.connections, seconds=LIMIT_SECONDS)
        with load_running(argv) as load:
            while len(points) <= 4:
                time.sleep(POLL_SECONDS)
                target.check_running()
                if load.poll() is not None:
                    raise RuntimeError(f"wrk ended with {load.returncode} before {streams} streams were through")
                finished = (engines.counters() - before).streams
                if finished >= streams * len(points) // 4:
                    points.append((finished, target.resident_mib()))
                    progress(*points[-1])
    return MemoryCurve(tuple(points))
