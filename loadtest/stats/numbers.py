"""Percentiles and spreads."""

import math
import statistics
from collections.abc import Iterable, Sequence

import msgspec


class Quantiles(msgspec.Struct, frozen=True):
    """Of a set of times, in seconds; all 0 if there were none."""

    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class Spread(msgspec.Struct, frozen=True):
    """A figure over repeats: its median, and the lowest and highest that came."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        around = f" ({self.low:.2f} to {self.high:.2f})" if self.low != self.high else ""
        return f"{self.median:.2f}{around}"


def percentile(ordered: Sequence[float], share: float) -> float:
    """Of values in rising order, interpolated linearly between ranks like numpy's. Raises ValueError for none."""
    if not ordered:
        raise ValueError("no values")
    rank = share * (len(ordered) - 1)
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def quantiles(values: Iterable[float]) -> Quantiles:
    """Of values in any order."""
    ordered = sorted(values)
    if not ordered:
        return Quantiles()
    return Quantiles(
        mean=statistics.fmean(ordered),
        p50=percentile(ordered, 0.50),
        p90=percentile(ordered, 0.90),
        p99=percentile(ordered, 0.99),
        max=ordered[-1],
    )


def spread(values: Sequence[float]) -> Spread:
    """Of one figure's repeats. Raises statistics.StatisticsError for none."""
    return Spread(statistics.median(values), min(values), max(values))
