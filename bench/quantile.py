"""Quantiles of a gateway's own histograms, between two looks at its /metrics."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

Buckets = dict[float, float]


def look(port: int, name: str) -> Buckets:
    """A histogram's cumulative counts by upper bound, summed over its labels."""
    text = httpx.get(f"http://127.0.0.1:{port}/metrics").raise_for_status().text
    found: Buckets = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == f"{name}_bucket":
                bound = float(sample.labels["le"])
                found[bound] = found.get(bound, 0.0) + sample.value
    return found


def between(before: Buckets, after: Buckets) -> Buckets:
    """What came in between."""
    return {bound: count - before.get(bound, 0.0) for bound, count in after.items()}


def quantile(share: float, buckets: Buckets) -> float:
    """By linear interpolation within a bucket, as Prometheus' histogram_quantile does; 0 where nothing was counted."""
    bounds = sorted(buckets)
    wanted = share * (buckets[bounds[-1]] if bounds else 0.0)
    if not wanted:
        return 0.0
    low = counted = 0.0
    for bound in bounds:
        if buckets[bound] >= wanted:
            if bound == float("inf"):
                return low
            return low + (bound - low) * (wanted - counted) / (buckets[bound] - counted)
        low, counted = bound, buckets[bound]
    return low
