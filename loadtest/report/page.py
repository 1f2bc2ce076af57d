"""Renders the page."""

import importlib.util
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from loadtest.records.model import LOCUST, Results
from loadtest.stats import Cell, Spread
from loadtest.stats.compare import arms, figure, levels

HTML = "report.html"


class MissingLibraryError(RuntimeError):
    """The page can't be rendered here; the message says what to install."""


def write(results: Results, folder: Path) -> Path:
    """Writes report.html, without plots where matplotlib is missing. Raises MissingLibraryError without jinja2."""
    if importlib.util.find_spec("jinja2") is None:
        raise MissingLibraryError("the report needs jinja2: in the checkout, pip install '.[loadtest]'")
    from jinja2 import Environment, StrictUndefined

    plots: dict[str, str] = {}
    if importlib.util.find_spec("matplotlib") is not None:
        from loadtest.report.plots import draw
        from loadtest.report.users import draw_users

        plots = draw_users(results) if results.kind == LOCUST else draw(results)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html.j2").read_text())
    path = folder / HTML
    path.write_text(template.render(results=results, plots=plots, rows=list(_rows(results)), plan=results.plan))
    return path


def _rows(results: Results) -> Iterator[dict[str, str]]:
    cells = results.cells
    if results.kind == LOCUST:
        yield from (_row(cell.arm, cell.level, [cell]) for cell in cells)
        return
    for level in levels(cells):
        for arm in arms(cells):
            mine = [cell for cell in cells if cell.arm == arm and cell.level == level]
            yield _row(arm, level, mine)


def _row(arm: str, level: int, cells: list[Cell]) -> dict[str, str]:
    def over(of: str, which: str = "") -> Spread | None:
        return figure(cells, arm, level, lambda cell: getattr(getattr(cell, of), which) if which else getattr(cell, of))

    good = sum(cell.ok for cell in cells)
    pools: dict[str, int] = {}
    reasons: dict[str, int] = {}
    for cell in cells:
        for counts, into in ((cell.pools, pools), (cell.reasons, reasons)):
            for name, count in counts.items():
                into[name] = into.get(name, 0) + count
    return {
        "level": str(level),
        "arm": arm,
        "ok": f"{good}/{sum(cell.requests for cell in cells)}",
        "throughput": _with_range(over("throughput"), 1, 1),
        "per_request": _with_range(over("per_request"), 1, 1),
        "latency": " / ".join(_plain(over("latency", which), 1, 2) for which in ("mean", "p50", "p99")),
        "ttft": " / ".join(_plain(over("ttft", which), 1000, 0) for which in ("p50", "p90", "p99")),
        "itl": " / ".join(_plain(over("itl", which), 1000, 1) for which in ("p50", "p99")) if _has_gaps(cells) else "",
        "tpot": _plain(over("tpot", "p50"), 1000, 1),
        "pools": ", ".join(f"{name} {count / good:.0%}" for name, count in sorted(pools.items())) if good else "",
        "reasons": ", ".join(f"{name} {count / good:.0%}" for name, count in sorted(reasons.items())) if good else "",
        "generator": f"{max((cell.generator.cpu for cell in cells), default=0):.0%}, "
        f"{max((cell.generator.late.p99 for cell in cells), default=0) * 1000:.1f} ms",
    }


def _has_gaps(cells: list[Cell]) -> bool:
    return any(cell.itl.max for cell in cells)


def _with_range(found: Spread | None, unit: float, digits: int) -> str:
    if found is None:
        return "none"
    text = f"{found.median * unit:,.{digits}f}"
    if found.low == found.high:
        return text
    return f"{text} ({found.low * unit:,.{digits}f} to {found.high * unit:,.{digits}f})"


def _plain(found: Spread | None, unit: float, digits: int) -> str:
    return "none" if found is None else f"{found.median * unit:,.{digits}f}"
