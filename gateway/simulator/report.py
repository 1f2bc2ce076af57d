"""Results as a table, as CSV and as JSON."""

import csv
import json
from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from gateway.simulator.measures import Result

_COLUMNS = (
    "policy",
    "tok/s",
    "req tok/s p10",
    "p50",
    "p90",
    "TTFT p50",
    "p99",
    "SLO",
    "drafting",
    "refused",
    "turns",
    "regret",
)
_FLAT = tuple(field for field in Result._fields if field != "looks")


def table(results: Sequence[Result]) -> str:
    """One block of lines for each load."""
    blocks = []
    for (curves, load), group in groupby(results, key=lambda result: (result.curves, result.load)):
        rows = [_COLUMNS, *(_row(result) for result in group)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            )
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        blocks.append("\n".join([f"{curves}, {load}", *(line.rstrip() for line in lines)]))
    return "\n\n".join(blocks)


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.policy,
        f"{result.throughput:,.1f}",
        *(f"{speed:.1f}" for speed in (result.speed_p10, result.speed_p50, result.speed_p90)),
        *(f"{seconds * 1000:,.0f} ms" for seconds in (result.ttft_p50, result.ttft_p99)),
        f"{result.attained:.1%}",
        f"{result.speculative_share:.0%}",
        str(result.refused),
        str(result.changes),
        "" if result.regret is None else f"{result.regret + 0.0:.1%}",
    )


def write_csv(results: Sequence[Result], out: TextIO) -> None:
    """One line a result, without the timelines."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_FLAT)
    for result in results:
        writer.writerow("" if value is None else value for value in (getattr(result, field) for field in _FLAT))


def write_json(results: Sequence[Result], out: TextIO) -> None:
    """A list of results, each with its timeline under `looks`."""
    rows = [{**result._asdict(), "looks": [look._asdict() for look in result.looks]} for result in results]
    json.dump(rows, out, indent=1)
    out.write("\n")
