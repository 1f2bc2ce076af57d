"""Routed cells of the H200 run are what the simulator makes of its engines, which it knows only one by one."""

import pytest

from enginebench import simulated
from loadtest import records
from loadtest.stats import Cell
from tests.docs.markdown import REPOSITORY, tables

RESULTS = REPOSITORY / "engine-images" / "results"
TOLERANCE = 0.1
# Below, requests that begin in the same step are slower than others, which a curve over concurrency does not have.
FROM = 10
ALONE = {"tree": ("tree", "calibrate-tree"), "adaptive": ("adaptive", "adaptive-low", "calibrate-adaptive")}


def read(folder: str) -> list[Cell]:
    return records.read(RESULTS / folder).cells


@pytest.mark.parametrize("name", ALONE)
def test_routed_cells_are_reproduced(name: str) -> None:
    alone = [cell for folder in ALONE[name] for cell in read(folder)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in simulated.table(name, read(name), alone)]
    published = [list(row.values()) for row in published_table(name)]
    assert rows[2:] == published
    for level, *figures in rows[2:]:
        for off in figures[2::3]:
            assert int(level) < FROM or abs(float(off.rstrip("%"))) < 100 * TOLERANCE, f"{level}: {off}"


def published_table(name: str) -> list[dict[str, str]]:
    page = REPOSITORY / "engine-images" / "RESULTS.md"
    found = [table for table in tables(page) if "spill simulated" in table[0]]
    return found[list(ALONE).index(name)]
