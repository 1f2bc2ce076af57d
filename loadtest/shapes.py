"""Locust's load shapes: how many users there are at which time."""

import math
import time
from collections.abc import Callable

from locust import LoadTestShape

STEPS = 5
QUIET = 0.1  # of the peak, in the night and outside a spike


def step(share: float) -> float:
    """Users as a share of the peak at a share of the duration: five equal steps up."""
    return (math.floor(share * STEPS) + 1) / STEPS


def ramp(share: float) -> float:
    """A straight line up."""
    return share


def spike(share: float) -> float:
    """A tenth of the peak, all of it during the middle fifth, a tenth again."""
    return 1.0 if 0.4 <= share < 0.6 else QUIET


def day(share: float) -> float:
    """A day from midnight to midnight: a tenth at night, the peak at noon."""
    return QUIET + (1 - QUIET) * (1 - math.cos(2 * math.pi * share)) / 2


CURVES: dict[str, Callable[[float], float]] = {"step": step, "ramp": ramp, "spike": spike, "day": day}


class Curve(LoadTestShape):
    """Follows a curve for `duration` seconds, with `peak` users at its highest."""

    abstract = True

    def __init__(self, curve: Callable[[float], float], peak: int, duration: float) -> None:
        self.start_time = time.perf_counter()  # locust sets it again when the test begins
        self._curve, self._peak, self._duration = curve, peak, duration

    def tick(self) -> tuple[int, float] | None:
        """Users, and how many may be started a second; None once it is over."""
        share = (time.perf_counter() - self.start_time) / self._duration
        if share >= 1:
            return None
        return max(1, round(self._peak * self._curve(share))), float(self._peak)


class Arrivals(LoadTestShape):
    """As many sources of Poisson arrivals as are wanted, for `duration` seconds; their rate is theirs to know."""

    abstract = True

    def __init__(self, sources: int, duration: float) -> None:
        self.start_time = time.perf_counter()  # locust sets it again when the test begins
        self._sources, self._duration = sources, duration

    def tick(self) -> tuple[int, float] | None:
        """Always the same number; None once it is over."""
        return (
            None if (time.perf_counter() - self.start_time) >= self._duration else (self._sources, float(self._sources))
        )
