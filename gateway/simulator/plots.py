"""Results as a picture: by load, or over time where there is a timeline."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.simulator import specs
from gateway.simulator.measures import Look, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "pinned:speculative": "#d9730d",
    "pinned:baseline": "#2b8a5c",
    "oracle": "#222222",
    "adaptive:latency": "#b03a5b",
    "adaptive:balanced": "#2f5fd0",
    "adaptive:throughput": "#8a4fbf",
}
FAMILIES = {"spill": "#8a8a8a", "switch": "#c9a227"}


def draw(path: Path, results: Sequence[Result]) -> None:
    """Write the picture. Raises ModuleNotFoundError without matplotlib, OSError if the file can't be written."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    timed = [result for result in results if result.looks]
    # Without a date, and with fixed ids, the same results make the same file.
    with rc_context({"svg.hashsalt": "spillway", "svg.fonttype": "none", "font.size": 9}):
        if timed:
            figure = Figure(figsize=(9.0, 2.4 * len(timed)), layout="constrained")
            _timelines(figure, timed)
        else:
            sets = list(dict.fromkeys(result.curves for result in results))
            figure = Figure(figsize=(9.5, 3.4 * len(sets)), layout="constrained")
            _by_load(figure, sets, results)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=110, metadata=metadata)


def _by_load(figure: "Figure", sets: Sequence[str], results: Sequence[Result]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    grid = figure.subplots(len(sets), 2, squeeze=False)
    for (left, right), curves in zip(grid, sets, strict=True):
        own = [result for result in results if result.curves == curves]
        loads = list(dict.fromkeys(result.load for result in own))
        oracle = {result.load: result.throughput for result in own if result.policy == "oracle"}
        relative = len(oracle) == len(loads)

        def throughput(result: Result, oracle: dict[str, float] = oracle, relative: bool = relative) -> float:
            return result.throughput / oracle[result.load] if relative else result.throughput

        _lines(left, own, loads, throughput)
        _lines(right, own, loads, lambda result: result.speed_p50)
        left.set_title(f"{curves}: " + ("throughput, of the oracle's" if relative else "tokens per second"))
        right.set_title("tokens per second of a request, median")
        right.set_yscale("log")
        right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        right.yaxis.set_major_formatter(ScalarFormatter())
        right.yaxis.set_minor_locator(NullLocator())
        left.set_ylim(bottom=0)
        right.legend(fontsize=7)


def _lines(axes: "Axes", results: Sequence[Result], loads: Sequence[str], of: Callable[[Result], float]) -> None:
    named: set[str] = set()
    for policy in dict.fromkeys(result.policy for result in results):
        family = policy.partition(":")[0]
        colour = COLOURS.get(policy) or FAMILIES.get(family, "#666666")
        label = policy if policy in COLOURS or family not in FAMILIES else f"{family}, each threshold"
        values = {result.load: of(result) for result in results if result.policy == policy}
        thin = family in FAMILIES
        axes.plot(
            range(len(loads)),
            [values.get(load, float("nan")) for load in loads],
            "-" if thin else "o-",
            color=colour,
            label="_" if label in named else label,
            lw=1.0 if thin else 1.6,
            alpha=0.8 if thin else 1.0,
            ms=3.5,
            zorder=1 if thin else 3,
        )
        named.add(label)
    closed = all(specs.is_closed(load) for load in loads)
    axes.set_xticks(range(len(loads)), [load.partition(":")[2] if closed else load for load in loads])
    axes.set_xlabel("clients in a closed loop" if closed else "load")
    axes.grid(alpha=0.25)


def _timelines(figure: "Figure", timed: Sequence[Result]) -> None:
    grid = figure.subplots(len(timed), 1, squeeze=False, sharex=True)
    for [axes], result in zip(grid, timed, strict=True):
        looks: Sequence[Look] = result.looks
        times = [look.time for look in looks]
        axes.stackplot(
            times,
            [look.baseline for look in looks],
            [look.speculative for look in looks],
            colors=(COLOURS["pinned:baseline"], COLOURS["pinned:speculative"]),
            labels=("baseline pool", "speculative pool"),
            alpha=0.75,
        )
        axes.set_title(f"{result.curves}, {result.load}, {result.policy}")
        axes.set_ylabel("tokens per second")
        if len({look.accept_length for look in looks}) > 1:
            beside = axes.twinx()
            beside.plot(times, [look.accept_length for look in looks], "k--", lw=1)
            beside.set_ylim(1.0, None)
            beside.set_ylabel("accept length")
        axes.legend(fontsize=7, loc="lower left")
    grid[-1][0].set_xlabel("simulated seconds")
