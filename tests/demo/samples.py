"""Measurements as a good run of the demo would leave them."""

from collections import Counter

from gateway.demo.check import Measured
from gateway.demo.traffic import Level, Sample

THRESHOLD = 4


def sample(pool: str = "speculative", *, error: str = "") -> Sample:
    """One request."""
    if error:
        return Sample(pool=pool, error=error)
    return Sample(pool=pool, reason="under_threshold", tokens=48, ttft=0.1, duration=0.5)


def level(concurrency: int, speculative: int, baseline: int = 0) -> Level:
    """So many requests to each pool."""
    samples = [sample("speculative")] * speculative + [sample("baseline")] * baseline
    return Level(concurrency, samples, seconds=2.0)


def measured(*levels: Level) -> Measured:
    """A run in which everything held, with the gateway's count of the requests to match."""
    levels = levels or (level(1, 4), level(4, 8), level(5, 8, 2), level(16, 8, 24))
    pinned = (level(1, 4), level(1, 0, 4))
    counted = Counter((each.pool, "200") for lev in (*levels, *pinned) for each in lev.samples)
    return Measured(
        threshold=THRESHOLD,
        levels=levels,
        pinned=pinned,
        looks=100,
        peak=THRESHOLD,
        over_limit=0,
        unanswered=0,
        inflight_after={"speculative": 0, "baseline": 0},
        requests=counted,
    )
