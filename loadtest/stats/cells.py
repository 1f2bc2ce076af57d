"""A cell: one arm at one level of concurrency, once."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from loadtest.client import Sample
from loadtest.stats.numbers import Quantiles, quantiles

EXAMPLES = 3
BUSY_SHARE = 0.7  # of one core: the generator is one thread
LATE_SHARE = 0.1  # of the median TTFT
LATE_SECONDS = 0.002  # below this, lateness is the timer's


class Generator(msgspec.Struct, frozen=True):
    """What the generator itself did meanwhile: CPU time over wall time, and how late its timers fired, in seconds."""

    cpu: float
    late: Quantiles


class Cell(msgspec.Struct, frozen=True):
    """Figures of one cell: tokens a second, seconds. `began` counts from the run's beginning.

    `throughput` is all tokens over the time from the first request to the end of the last; `per_request` the mean
    of each request's own tokens over its duration. `itl` is between events with content, which may carry several
    tokens; `tpot` is a request's time after its first token over its tokens after the first. Only requests that
    succeeded are in the figures.
    """

    arm: str
    level: int
    repeat: int
    began: float
    seconds: float
    requests: int
    ok: int
    failures: dict[str, int]
    examples: list[str]
    tokens: int
    prompt_tokens: int
    counted: bool
    throughput: float
    per_request: float
    latency: Quantiles
    ttft: Quantiles
    tpot: Quantiles
    itl: Quantiles
    pools: dict[str, int]
    reasons: dict[str, int]
    generator: Generator

    @property
    def failed(self) -> int:
        """Requests that did not succeed."""
        return sum(self.failures.values())

    @property
    def generator_bound(self) -> bool:
        """Whether the generator used so much of its core that the figures may be its own rather than the server's."""
        return self.generator.cpu >= BUSY_SHARE

    @property
    def late(self) -> bool:
        """Whether its timers were so late that its times are in doubt, as on a machine without a free core."""
        return self.generator.late.p99 > max(LATE_SECONDS, LATE_SHARE * self.ttft.p50)

    def share(self, pool: str) -> float:
        """Share of the successful requests that a pool answered."""
        return self.pools.get(pool, 0) / self.ok if self.ok else 0.0


def summarise(
    samples: Sequence[Sample],
    *,
    arm: str,
    level: int,
    repeat: int,
    began: float,
    seconds: float,
    generator: Generator,
) -> Cell:
    """The cell of these samples, taken within `seconds`."""
    good = [sample for sample in samples if sample.ok]
    failed = [sample for sample in samples if sample.failed]
    tokens = sum(sample.tokens for sample in good)
    return Cell(
        arm=arm,
        level=level,
        repeat=repeat,
        began=began,
        seconds=seconds,
        requests=len(samples),
        ok=len(good),
        failures=dict(Counter(sample.outcome.value for sample in failed)),
        examples=sorted({f"{sample.outcome}: {sample.detail}" for sample in failed})[:EXAMPLES],
        tokens=tokens,
        prompt_tokens=sum(sample.prompt_tokens for sample in good),
        counted=all(sample.counted for sample in good),
        throughput=tokens / seconds if seconds > 0 else 0.0,
        per_request=sum(sample.speed for sample in good) / len(good) if good else 0.0,
        latency=quantiles(sample.duration for sample in good),
        ttft=quantiles(sample.ttft for sample in good if sample.ttft is not None),
        tpot=quantiles(sample.tpot for sample in good if sample.tpot is not None),
        itl=quantiles(gap for sample in good for gap in sample.gaps),
        pools=dict(Counter(sample.pool for sample in good if sample.pool)),
        reasons=dict(Counter(sample.reason for sample in good if sample.reason)),
        generator=generator,
    )
