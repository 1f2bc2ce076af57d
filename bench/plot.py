"""The report's picture."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.measure import Stat
from bench.run import Results

OURS, OTHERS, INK = "#0b7285", "#adb5bd", "#343a40"


def _bars(axes: Axes, title: str, stats: dict[str, Stat]) -> None:
    names = list(stats)[::-1]
    values = [stats[name].median for name in names]
    spread = [
        [stats[name].median - stats[name].low for name in names],
        [stats[name].high - stats[name].median for name in names],
    ]
    colours = [OURS if name == "spillway" else OTHERS for name in names]
    axes.barh(names, values, xerr=spread, color=colours, ecolor=INK, capsize=3, height=0.65)
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        axes.annotate(
            f"{value:,.3g}", (stats[name].high, index), (6, 0), textcoords="offset points", va="center", color=INK
        )
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlim(0, max(stat.high for stat in stats.values()) * 1.18)
    axes.spines[["top", "right"]].set_visible(False)


def draw(results: Results, path: Path) -> None:
    """CPU per event, CPU per request and, if measured, Spillway's memory, side by side as a PNG."""
    panels = 3 if results.memory else 2
    figure, axes = plt.subplots(1, panels, figsize=(4.6 * panels, 3.2), layout="constrained")
    rows = results.rows.values()
    _bars(axes[0], "CPU per relayed event (µs)", {row.name: row.event_us for row in rows if row.event_us})
    _bars(axes[1], "CPU per request (µs)", {row.name: row.busy_us for row in rows if row.busy_us})
    if results.memory:
        streams, mib = zip(*results.memory.points, strict=True)
        axes[2].plot(streams, mib, marker="o", color=OURS)
        axes[2].set_title("Spillway's memory by streams served (MiB)", loc="left", fontsize=11)
        axes[2].set_ylim(0, max(mib) * 1.3)
        axes[2].spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
