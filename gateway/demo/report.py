"""The demo's table, as text."""

import math
from collections.abc import Iterable, Sequence

from gateway.demo.traffic import Level, Sample

_COLUMNS = (
    ("clients", 7),
    ("requests", 8),
    ("speculative", 12),
    ("baseline", 12),
    ("tok/s", 7),
    ("per request", 11),
    ("TTFT p50", 9),
    ("failed", 6),
)
_NO_COST = "Drafting costs no throughput here: this run shows the routing, not the gain."


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest of `values` that at least `share` (0 to 1) of them do not exceed; NaN when there are none."""
    ranked = sorted(values)
    if not ranked:
        return math.nan
    return ranked[max(math.ceil(share * len(ranked)), 1) - 1]


def succeeded(samples: Iterable[Sample]) -> list[Sample]:
    """Those that did not fail."""
    return [sample for sample in samples if not sample.error]


def count(samples: Iterable[Sample], pool: str) -> int:
    """How many of them `pool` answered."""
    return sum(sample.pool == pool for sample in samples)


def throughput(level: Level) -> float:
    """Completion tokens per second of all its requests together."""
    return sum(sample.tokens for sample in level.samples) / level.seconds


def header() -> str:
    """The table's head: its columns and a rule."""
    names = "  ".join(name.rjust(width) for name, width in _COLUMNS)
    return f"{names}\n{'  '.join('-' * width for _, width in _COLUMNS)}"


def row(level: Level) -> str:
    """One line of the table. Rates are in completion tokens per second."""
    good = succeeded(level.samples)
    rates = [sample.tokens / sample.duration for sample in good]
    ttft = percentile((sample.ttft for sample in good), 0.5)
    cells = (
        str(level.concurrency),
        str(len(level.samples)),
        _share(level.samples, "speculative"),
        _share(level.samples, "baseline"),
        f"{throughput(level):.1f}",
        f"{sum(rates) / len(rates):.1f}" if rates else "-",
        "-" if math.isnan(ttft) else f"{ttft * 1000:.0f} ms",
        str(len(level.samples) - len(good)),
    )
    return "  ".join(cell.rjust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True))


def _share(samples: Sequence[Sample], pool: str) -> str:
    number = count(samples, pool)
    return f"{number} ({100 * number / len(samples):.0f}%)" if samples else "0"


def comparison(pinned: Sequence[Level]) -> list[tuple[int, float]]:
    """For each concurrency at which both pools were measured alone: speculative over baseline throughput."""
    alone = {
        (pool, level.concurrency): throughput(level)
        for level in pinned
        for pool in {sample.pool for sample in succeeded(level.samples)}
    }
    return [
        (clients, rate / alone["baseline", clients])
        for (pool, clients), rate in alone.items()
        if pool == "speculative" and alone.get(("baseline", clients))
    ]


def meaning(threshold: int, pinned: Sequence[Level]) -> str:
    """What the tables say, and what they do not."""
    compared = comparison(pinned)
    ratios = " and ".join(f"{ratio:.2f} with {clients}" for clients, ratio in compared)
    clients, ratio = max(compared, default=(0, 0.0))
    costs_nothing = clients > threshold and round(ratio, 2) >= 1  # as it is printed
    text = f"""\
Speculative over baseline throughput, each pool alone: {ratios or "not measured"} (clients).
Up to {threshold} clients, every request goes to the speculative pool. With more, {threshold} are in flight there and
the excess spills over to the baseline pool. Tokens are counted by the engines, times are taken by the clients.
Both engines share this machine's cores: the last rows show where requests go, not what more hardware would give,
and other work on the machine moves every figure. Drafts come from the prompt's own text, which suits edits of
given code; on other prompts drafting gains less or nothing."""
    return f"{text}\n{_NO_COST}" if costs_nothing else text
