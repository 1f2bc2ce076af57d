"""The plots of a run with users that come and go."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from loadtest.records.model import Results
from loadtest.report.plots import COLOURS, MOST_POINTS, NARROW, WIDE, svg
from loadtest.stats import Cell

_SHADES = {"p50": "#9db7f5", "p90": "#5f86e3", "p99": "#2f5fd0"}


def draw_users(results: Results) -> dict[str, str]:
    """Every plot for which there is something to show, by name."""
    kinds = [cell for cell in results.cells[1:] if cell.ok]
    found = {}
    if results.looks:
        found["in_flight"] = svg(WIDE, lambda axes: _in_flight(axes, results))
    if kinds:
        found["first_token"] = svg(NARROW, lambda axes: _first_token(axes, kinds))
    if any(cell.pools for cell in kinds):
        found["pools"] = svg(NARROW, lambda axes: _pools(axes, kinds))
    return found


def _in_flight(axes: Axes, results: Results) -> None:
    looks = results.looks[:: max(1, len(results.looks) // MOST_POINTS)]
    at = [look.at for look in looks]
    pools = sorted({pool for look in looks for pool in look.inflight}, reverse=True)
    counts = [[look.inflight.get(pool, 0) for look in looks] for pool in pools]
    shades = [COLOURS.get(pool, "#666666") for pool in pools]
    axes.stackplot(at, *counts, labels=pools, colors=shades, step="post", alpha=0.85)
    axes.set_xlabel("seconds")
    axes.set_ylabel("requests in flight")
    axes.grid(alpha=0.3)
    _legend(axes)


def _first_token(axes: Axes, kinds: Sequence[Cell]) -> None:
    for place, (which, shade) in enumerate(_SHADES.items()):
        y = [row + 0.27 * (place - 1) for row in range(len(kinds))]
        axes.barh(y, [getattr(cell.ttft, which) * 1000 for cell in kinds], height=0.25, color=shade, label=which)
    _names(axes, kinds)
    axes.set_xlabel("TTFT, ms")
    _legend(axes)


def _pools(axes: Axes, kinds: Sequence[Cell]) -> None:
    left = [0.0] * len(kinds)
    for pool in sorted({pool for cell in kinds for pool in cell.pools}, reverse=True):
        shares = [cell.share(pool) for cell in kinds]
        axes.barh(range(len(kinds)), shares, left=left, color=COLOURS.get(pool, "#666666"), label=pool)
        left = [before + share for before, share in zip(left, shares, strict=True)]
    _names(axes, kinds)
    axes.set_xlabel("share of the requests that succeeded")
    _legend(axes)


def _names(axes: Axes, kinds: Sequence[Cell]) -> None:
    axes.set_yticks(range(len(kinds)), [cell.arm for cell in kinds], fontsize=8)
    axes.invert_yaxis()


def _legend(axes: Axes) -> None:
    axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
