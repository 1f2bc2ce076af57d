"""What Spillway must not cost more than, as ratios within one run."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.measure import Row, Stat
from bench.run import Results

EVENT_OVER_NGINX = 2.2
MEMORY_GROWTH = 0.05


@dataclass(frozen=True)
class Verdict:
    """One target. `passed` is None where the run lacks what the target compares with."""

    text: str
    figure: str
    passed: bool | None

    @property
    def word(self) -> str:
        """As the report prints it."""
        return {True: "PASS", False: "FAIL", None: "not run"}[self.passed]


def ratio(results: Results, other: str, of: Callable[[Row], Stat | None]) -> float | None:
    """Spillway's median over another proxy's; None if either was not run."""
    ours, theirs = results.rows.get("spillway"), results.rows.get(other)
    mine, its = ours and of(ours), theirs and of(theirs)
    return mine.median / its.median if mine and its else None


def event(row: Row) -> Stat | None:
    """CPU per relayed event."""
    return row.event_us


def request(row: Row) -> Stat | None:
    """CPU per non-streamed request."""
    return row.busy_us


def light_request(row: Row) -> Stat | None:
    """The same under the light load."""
    return row.light_us


def _at_most(results: Results, text: str, other: str, of: Callable[[Row], Stat | None], limit: float) -> Verdict:
    value = ratio(results, other, of)
    if value is None:
        return Verdict(text, "", None)
    return Verdict(text, f"{value:.2f}x", round(value, 2) <= limit)


def _memory_flat(results: Results) -> Verdict:
    streams = f"{results.plan.memory_streams:,} streams"
    text = f"memory over {streams}: less than {MEMORY_GROWTH:.0%} more after the first quarter"
    if results.memory is None:
        return Verdict(text, "", None)
    return Verdict(text, f"{results.memory.growth:+.1%}", results.memory.growth < MEMORY_GROWTH)


def _none_failed(results: Results) -> Verdict:
    text = "no request failed, at any proxy"
    failed = {row.name: row.errors for row in results.rows.values() if row.errors}
    return Verdict(text, ", ".join(f"{name}: {count}" for name, count in failed.items()) or "0", not failed)


def verdicts(results: Results) -> list[Verdict]:
    """Every target, in the order of the report."""
    return [
        _at_most(results, f"CPU per event at most {EVENT_OVER_NGINX}x nginx", "nginx", event, EVENT_OVER_NGINX),
        _at_most(results, "CPU per event no more than Envoy", "envoy", event, 1.0),
        _at_most(results, "CPU per event no more than vllm-router", "vllm-router", event, 1.0),
        _at_most(results, "CPU per request no more than vllm-router", "vllm-router", request, 1.0),
        _at_most(results, "the same under a light load", "vllm-router", light_request, 1.0),
        _memory_flat(results),
        _none_failed(results),
    ]
