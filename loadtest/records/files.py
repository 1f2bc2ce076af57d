"""Reads and writes them."""

import csv
from collections.abc import Iterator
from pathlib import Path

import msgspec

from loadtest.records.model import VERSION, Results
from loadtest.stats import Cell

JSON, CSV = "results.json", "results.csv"
_TIMES = ("mean", "p50", "p90", "p99", "max")


class BadResultsError(ValueError):
    """A folder without results that can be read; the message says why."""


def write(results: Results, folder: Path) -> list[Path]:
    """Writes results.json and results.csv (one row a cell, times in seconds). Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    whole, table = folder / JSON, folder / CSV
    whole.write_bytes(msgspec.json.format(msgspec.json.encode(_rounded(results)), indent=1) + b"\n")
    rows = [dict(_row(cell)) for cell in results.cells]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), restval=0)
        writer.writeheader()
        writer.writerows(rows)
    return [whole, table]


def read(folder: Path) -> Results:
    """The results in a folder. Raises BadResultsError."""
    path = folder / JSON
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Results)
    except OSError as error:
        raise BadResultsError(f"{path} can't be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadResultsError(f"{path} is not the result of a run: {error}") from error
    if results.version != VERSION:
        raise BadResultsError(f"{path} has version {results.version}; this program reads version {VERSION}")
    return results


def _row(cell: Cell) -> Iterator[tuple[str, object]]:
    for name in ("arm", "level", "repeat", "requests", "ok"):
        yield name, getattr(cell, name)
    yield "failed", cell.failed
    for name in ("seconds", "tokens", "prompt_tokens", "throughput", "per_request"):
        yield name, _short(getattr(cell, name))
    for name in ("latency", "ttft", "tpot", "itl"):
        for which in _TIMES:
            yield f"{name}_{which}", _short(getattr(getattr(cell, name), which))
    for kind in ("pools", "reasons", "failures"):
        for name, count in getattr(cell, kind).items():
            yield f"{kind.removesuffix('s')}_{name.replace(' ', '_')}", count
    yield "generator_cpu", _short(cell.generator.cpu)
    yield "generator_late_p99", _short(cell.generator.late.p99)


def _short(value: float) -> float:
    return round(value, 6) if isinstance(value, float) else value


def _rounded(results: Results) -> object:
    """As plain objects, with six digits after the point: microseconds."""

    def walk(value: object) -> object:
        match value:
            case float():
                return round(value, 6)
            case dict():
                return {name: walk(inner) for name, inner in value.items()}
            case list():
                return [walk(inner) for inner in value]
        return value

    return walk(msgspec.to_builtins(results))
