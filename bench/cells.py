"""Results as the words that the table and the page share."""

from bench.measure import Row, Stat
from bench.run import Results

DISTURBED_CORES = 0.15  # more than the system's own chores use
HEADS = (
    "proxy",
    "CPU per request (µs)",
    "the same, light load",
    "CPU per event (µs)",
    "requests/s, at most",
    "p50 (ms)",
    "p99 (ms)",
    "stream p50 (ms)",
    "stream p99 (ms)",
    "cores used, streaming",
    "memory, start to end (MiB)",
    "failed",
)


def _spread(stat: Stat | None, digits: int) -> str:
    if stat is None:
        return "-"
    median = f"{stat.median:,.{digits}f}"
    return median if stat.low == stat.high else f"{median} ({stat.low:,.{digits}f} to {stat.high:,.{digits}f})"


def cells(row: Row) -> tuple[str, ...]:
    """A row under HEADS."""
    return (
        row.name,
        _spread(row.busy_us, 0),
        _spread(row.light_us, 0),
        _spread(row.event_us, 1),
        _spread(row.peak_rate, 0),
        f"{row.p50_ms.median:.2f}",
        f"{row.p99_ms.median:.2f}",
        f"{row.stream_p50_ms.median:.0f}",
        f"{row.stream_p99_ms.median:.0f}",
        f"{row.utilisation.median:.2f}" if row.utilisation else "-",
        "{:.0f} to {:.0f}".format(*row.memory) if row.memory else "-",
        str(row.errors),
    )


def memory_points(results: Results) -> str:
    """Spillway's memory by streams served; empty if it was not run."""
    points = results.memory.points if results.memory else ()
    return "; ".join(f"{streams:,} streams: {mib:.1f} MiB" for streams, mib in points)


def quietness(results: Results) -> str:
    """Whether the figures can be trusted."""
    worst = max(row.disturbance for row in results.rows.values())
    if worst <= DISTURBED_CORES:
        return f"The machine was quiet: others used at most {worst:.2f} cores in any phase."
    return (
        f"The machine was NOT quiet: others used up to {worst:.2f} cores in a phase. "
        "Events bunch up on a busy machine, which makes every proxy look cheaper than it is and shifts the ratios."
    )
