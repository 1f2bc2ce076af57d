"""A cell as one line of text."""

from loadtest.stats import Cell


def line(cell: Cell) -> str:
    """Concurrency, requests, throughput, speed of a request and latency, then what routing adds to them."""
    latency = cell.latency
    parts = [
        f"{cell.arm:11s} C={cell.level:3d}",
        f"{cell.requests:3d} requests",
        f"throughput: {cell.throughput:7.1f} tok/s",
        f"per-req: {cell.per_request:6.1f} tok/s",
        f"latency avg/p50/p99: {latency.mean:6.1f}/{latency.p50:6.1f}/{latency.p99:6.1f}s",
        f"ok: {cell.ok}/{cell.requests}",
        f"TTFT p50/p99: {_ms(cell.ttft.p50)}/{_ms(cell.ttft.p99)} ms",
        f"ITL p50/p99: {_ms(cell.itl.p50)}/{_ms(cell.itl.p99)} ms",
        f"pools: {_counts(cell.pools)}",
        f"reasons: {_counts(cell.reasons)}",
    ]
    if cell.failures:
        parts.append(f"FAILED: {_counts(cell.failures)}")
    return " | ".join(parts)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g}" if seconds < 1 else f"{seconds * 1000:.0f}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none named"
