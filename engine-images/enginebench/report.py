"""The table and the picture of RESULTS.md, from what the sweeps wrote."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from loadtest import records
from loadtest.stats import Cell

_STYLE = {"speculative": "o:", "baseline": "s:", "spill": "D-", "switch": "^-", "balanced": "v-", "throughput": "*-"}


def run(args: argparse.Namespace) -> int:
    """Print a table for each set, and draw them into one picture."""
    found = {folder.name: records.read(folder).cells for folder in args.folder}
    for name, cells in found.items():
        print(f"### {name}\n", *table(cells), "", *splits(cells), "", sep="\n")
    draw(found, args.picture)
    return 0


def table(cells: list[Cell]) -> Iterator[str]:
    """Total tokens per second of each arm by concurrency, and what spilling gains over the better single arm."""
    arms = [arm for arm in _STYLE if any(cell.arm == arm for cell in cells)]
    yield f"| requests at once | {' | '.join(arms)} | spill over the better arm | failed |"
    yield f"| --- |{' --- |' * (len(arms) + 2)}"
    for level in sorted({cell.level for cell in cells}):
        mine = {cell.arm: cell for cell in cells if cell.level == level}
        best = max(mine[arm].throughput for arm in ("speculative", "baseline") if arm in mine)
        figures = [_figure(mine[arm], best) if arm in mine else "" for arm in arms]
        gain = f"{mine['spill'].throughput / best - 1:+.0%}" if "spill" in mine else ""
        yield f"| {level} | {' | '.join(figures)} | {gain} | {sum(cell.failed for cell in mine.values())} |"


def splits(cells: list[Cell]) -> Iterator[str]:
    """What the arms' own figures leave for any router: the best of all ways to split each level's requests.

    An engine with n requests makes what its arm made at n, on a straight line between the levels measured and from
    nothing to the first. Requests are taken as alike and placed at once, and nothing is lost at a cell's end.
    """
    totals: dict[str, dict[int, float]] = {}
    for cell in cells:
        totals.setdefault(cell.arm, {})[cell.level] = cell.throughput
    fast, plain = totals["speculative"], totals["baseline"]
    yield "| requests at once | best split: speculative + baseline | tokens/s | over the better arm |"
    yield "| --- | --- | --- | --- |"
    for level in sorted(fast.keys() & plain.keys()):
        most, held = max((_total(fast, held) + _total(plain, level - held), held) for held in range(level + 1))
        gain = most / max(fast[level], plain[level]) - 1
        yield f"| {level} | {held} + {level - held} | {most:,.0f} | {gain:+.0%} |"


def _total(measured: dict[int, float], held: int) -> float:
    levels = sorted(measured)
    return float(np.interp(held, [0, *levels], [0.0, *(measured[level] for level in levels)]))


def _figure(cell: Cell, best: float) -> str:
    text = f"{cell.throughput:,.0f}"
    return f"**{text}**" if cell.throughput >= best else text


def draw(found: dict[str, list[Cell]], path: Path) -> None:
    """Throughput over the better single arm's, and the speed of one request, by concurrency; a row for each set."""
    figure = Figure(figsize=(11, 4 * len(found)))
    axes = figure.subplots(len(found), 2, squeeze=False)
    for (gain, speed), (name, cells) in zip(axes, found.items(), strict=True):
        levels = sorted({cell.level for cell in cells})
        best = {
            level: max(cell.throughput for cell in cells if cell.level == level and _alone(cell)) for level in levels
        }
        for arm in _STYLE:
            mine = sorted((cell for cell in cells if cell.arm == arm), key=lambda cell: cell.level)
            if mine:
                at = [cell.level for cell in mine]
                style: dict[str, Any] = {"label": arm, "markersize": 4}
                gain.plot(at, [cell.throughput / best[cell.level] for cell in mine], _STYLE[arm], **style)
                speed.plot(at, [cell.per_request for cell in mine], _STYLE[arm], **style)
        gain.set_title(f"{name}: throughput over the better single arm")
        # The arm that is far off would leave no room to tell the others apart.
        gain.set_ylim(0.65, 1.25)
        gain.axhline(1.0, color="grey", linewidth=0.8)
        gain.legend(ncols=2)
        speed.set_title(f"{name}: tokens/s of one request")
        for axis in (gain, speed):
            axis.set_xscale("log")
            axis.set_xticks(levels, map(str, levels))
            axis.minorticks_off()
            axis.set_xlabel("requests at once")
            axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _alone(cell: Cell) -> bool:
    return cell.arm in ("speculative", "baseline")
