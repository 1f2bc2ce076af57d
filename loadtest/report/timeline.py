"""Where requests went over time, and what was expected of the pools."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from loadtest.learning import Timeline

COLOURS = {"speculative": "#0b7285", "baseline": "#e8590c"}
INK = "#343a40"


def draw(timeline: "Timeline", path: Path) -> None:
    """Two panels over one axis of time, as a PNG: each request's speed by its pool, and the learned speeds."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5.4), sharex=True, layout="constrained")
    for pool, colour in COLOURS.items():
        for explored, marker in ((False, "o"), (True, "x")):
            chosen = [one for one in timeline.answers if one.pool == pool and one.chosen != explored]
            label = f"{pool}, to explore" if explored else pool
            above.scatter(
                [one.at for one in chosen], [one.rate for one in chosen], s=16, marker=marker, color=colour, label=label
            )
        times = [one.at for one in timeline.expected]
        below.plot(times, [getattr(one, pool) or float("nan") for one in timeline.expected], color=colour, label=pool)
    above.set_title("Each request: its speed, and the pool that it was sent to (tokens/s)", loc="left", fontsize=10)
    below.set_title("Learned: the speed of one request alone (tokens/s)", loc="left", fontsize=10)
    for axes in (above, below):
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        for start, kind in timeline.phases:
            axes.axvline(start, color=INK, linewidth=0.8, linestyle=":")
            words = "edits of code" if kind == "regular" else kind
            axes.annotate(words, (start, 1), (4, -10), xycoords=("data", "axes fraction"), textcoords="offset points")
    above.legend(loc="lower right", fontsize=8, ncols=2)
    below.set_xlabel("seconds")
    figure.savefig(path, dpi=120)
    plt.close(figure)
