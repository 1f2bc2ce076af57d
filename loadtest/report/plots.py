"""The plots, each as the text of an SVG element."""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, groupby

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from loadtest.records.model import Look, Results
from loadtest.stats import Cell
from loadtest.stats.compare import arms, figure, levels
from loadtest.stats.crossover import BASELINE, SPECULATIVE
from loadtest.stats.verdict import SPILLWAY

COLOURS = {SPECULATIVE: "#d9730d", BASELINE: "#2b8a5c", SPILLWAY: "#2f5fd0"}
OTHERS = ("#8a4fbf", "#666666", "#b03a5b", "#7a6a00")
MOST_POINTS = 1500
LABEL_SHARE = 0.04  # of the axis that a label takes
WIDE, NARROW = (11.0, 3.6), (5.4, 3.6)


def draw(results: Results) -> dict[str, str]:
    """Every plot for which there is something to show, by name."""
    if not any(cell.ok for cell in results.cells):
        return {}
    found = {
        "throughput": svg(WIDE, lambda axes: _throughput(axes, results)),
        "per_request": svg(NARROW, lambda axes: _per_request(axes, results)),
        "ttft": svg(NARROW, lambda axes: _ttft(axes, results)),
    }
    if results.verdict.comparisons:
        found["gain"] = svg(NARROW, lambda axes: _gain(axes, results))
    if any(cell.arm == SPILLWAY and cell.pools for cell in results.cells):
        found["share"] = svg(NARROW, lambda axes: _share(axes, results))
    if any(look.arm == SPILLWAY for look in results.looks):
        found["timeline"] = svg(WIDE, lambda axes: _timeline(axes, results))
    return found


def colours(results: Results) -> dict[str, str]:
    """A colour for each arm."""
    spare = cycle(OTHERS)
    return {arm: COLOURS.get(arm) or next(spare) for arm in arms(results.cells)}


def throughput_figure(results: Results) -> Figure:
    """Throughput against concurrency by itself, as for a page of documentation."""
    drawing = Figure(figsize=(8.0, 4.0), layout="constrained")
    _throughput(drawing.add_subplot(), results)
    return drawing


def svg(size: tuple[float, float], fill: Callable[[Axes], None]) -> str:
    """A drawing of this size, in inches, as an SVG element."""
    drawing = Figure(figsize=size, layout="constrained")
    fill(drawing.add_subplot())
    out = io.StringIO()
    # Without a date, and with fixed ids, the same results make the same file.
    with rc_context({"svg.hashsalt": "spillway", "svg.fonttype": "none"}):
        drawing.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _curve(axes: Axes, results: Results, of: Callable[[Cell], float], style: str = "-", suffix: str = "") -> None:
    for arm, colour in colours(results).items():
        points = [(level, figure(results.cells, arm, level, of)) for level in levels(results.cells)]
        found = [(level, spread) for level, spread in points if spread is not None]
        x = [level for level, _ in found]
        axes.plot(x, [spread.median for _, spread in found], f"{style}o", color=colour, label=arm + suffix, ms=4)
        if any(spread.low != spread.high for _, spread in found):
            low, high = [spread.low for _, spread in found], [spread.high for _, spread in found]
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _concurrency(axes: Axes, results: Results) -> None:
    places = levels(results.cells)
    axes.set_xscale("log")
    axes.set_xticks(places, _labels(places))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("requests at once")
    axes.grid(alpha=0.3)


def _labels(places: Sequence[int]) -> list[str]:
    """The levels as text; empty where it would run into the one before, on a logarithmic axis."""
    reach = math.log(places[-1] / places[0])
    found: list[str] = []
    last = -math.inf
    for place in places:
        free = math.log(place) - last > LABEL_SHARE * reach
        found.append(str(place) if free else "")
        last = math.log(place) if free else last
    return found


def _throughput(axes: Axes, results: Results) -> None:
    _curve(axes, results, lambda cell: cell.throughput)
    found = results.verdict.crossover
    if found is not None and found.at is not None and max(results.replicas.values(), default=1) == 1:
        axes.axvline(found.at.median, color="#999999", linestyle="--", linewidth=1)
        axes.axvspan(found.at.low, found.at.high, color="#999999", alpha=0.15, linewidth=0)
        axes.annotate(
            f"the pools cross at {found.at.median:.1f} ",
            (found.at.median, 0.03),
            xycoords=("data", "axes fraction"),
            ha="right",
        )
    _concurrency(axes, results)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("tokens a second, all requests")
    axes.legend()


def _per_request(axes: Axes, results: Results) -> None:
    _curve(axes, results, lambda cell: cell.per_request)
    _concurrency(axes, results)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("tokens a second, one request")
    axes.legend()


def _ttft(axes: Axes, results: Results) -> None:
    _curve(axes, results, lambda cell: cell.ttft.p50 * 1000, suffix=", p50")
    _curve(axes, results, lambda cell: cell.ttft.p99 * 1000, ":", ", p99")
    _concurrency(axes, results)
    axes.set_yscale("log")
    axes.set_ylabel("TTFT, ms")
    axes.legend(fontsize=7, ncols=2)


def _gain(axes: Axes, results: Results) -> None:
    for name, colour in colours(results).items():
        found = [(one.level, one.over[name].throughput) for one in results.verdict.comparisons if name in one.over]
        if not found:
            continue
        middle = [spread.median for _, spread in found]
        reach = [[s.median - s.low for _, s in found], [s.high - s.median for _, s in found]]
        axes.errorbar(
            [level for level, _ in found],
            middle,
            yerr=reach,
            fmt="-o",
            color=colour,
            label=f"over {name}",
            ms=4,
            capsize=3,
        )
    axes.axhline(1.0, color="#333333", linewidth=0.8)
    _concurrency(axes, results)
    axes.set_ylabel("Spillway's throughput, as a ratio")
    axes.legend()


def _share(axes: Axes, results: Results) -> None:
    places = levels(results.cells)
    below = [0.0] * len(places)
    mine = [cell for cell in results.cells if cell.arm == SPILLWAY]
    for pool in sorted({pool for cell in mine for pool in cell.pools}, reverse=True):
        shares = []
        for level in places:
            here = [cell for cell in mine if cell.level == level]
            good = sum(cell.ok for cell in here)
            shares.append(sum(cell.pools.get(pool, 0) for cell in here) / good if good else 0.0)
        axes.bar([str(level) for level in places], shares, bottom=below, color=COLOURS.get(pool, "#666666"), label=pool)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axes.set_xlabel("requests at once")
    axes.set_ylabel("share of the requests, arm spillway")
    axes.legend()


def _timeline(axes: Axes, results: Results) -> None:
    """The cells of the arm spillway one after the other, without what was between them."""
    start = 0.0
    ticks: list[tuple[float, str]] = []
    for cell, looks in _spillway_cells(results):
        x = [start + look.at - looks[0].at for look in looks]
        step = max(1, len(looks) * len(results.cells) // MOST_POINTS)
        for pool in (SPECULATIVE, BASELINE):
            y = [look.inflight.get(pool, 0) for look in looks]
            axes.plot(
                x[::step], y[::step], color=COLOURS[pool], linewidth=1, label="" if ticks else f"in flight, {pool}"
            )
        limit = [look.limits.get(SPECULATIVE) for look in looks]
        if None not in limit:
            y = [value for value in limit if value is not None]
            axes.plot(x, y, color="#c00000", linewidth=1, linestyle="--", label="" if ticks else "limit")
        ticks.append((start, str(cell)))
        start = x[-1] + 2.0
        axes.axvline(start - 1.0, color="#dddddd", linewidth=0.6)
    axes.set_xticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=7)
    axes.set_xlabel("requests at once, cell after cell")
    axes.set_ylabel("requests in flight")
    axes.legend(fontsize=8)


def _spillway_cells(results: Results) -> Iterator[tuple[int, list[Look]]]:
    mine = [look for look in results.looks if look.arm == SPILLWAY]
    for (_, level), looks in groupby(mine, key=lambda look: (look.repeat, look.level)):
        yield level, list(looks)
