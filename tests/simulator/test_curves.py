"""What comes out of a simulated engine is what was measured of the real one."""

from pathlib import Path

import pytest

from gateway.routing import ROLES
from gateway.simulator import catalogue
from gateway.simulator.catalogue import CatalogueError, CurveSet
from gateway.simulator.compare import Case, run
from gateway.simulator.curves import CurveError, Measured, model, with_prompts
from gateway.simulator.engine import EngineModel
from gateway.simulator.simulation import Plan
from tests.docs.markdown import REPOSITORY, tables

SETS = catalogue.shipped()
TOLERANCE = 0.1
FILE = """
source: made up
requests: {prompt: 10, output: 20}
baseline: {total: {1: 10, 8: 40}, prefill: {tokens_per_second: 1000}}
speculative:
  one: {accept_length: 2, total: {1: 20, 8: 30}, prefill: {tokens_per_second: 1000}}
"""


def throughput(curves: CurveSet, role: str, level: int, output: str) -> float:
    plan = Plan(requests=max(400, 15 * level))
    return run(Case(curves.name, f"closed:{level}", f"pinned:{role}", plan, output=output)).throughput


@pytest.mark.parametrize("name", SETS)
def test_measured_throughput_is_reproduced(name: str) -> None:
    """Within a tenth, at every level that was measured: with the lengths of the measurement, and with mixed ones."""
    curves = SETS[name]
    for role in ROLES:
        for level, total in curves.measured[role].totals.items():
            for output in (str(curves.output), f"exponential:{curves.output}"):
                found = throughput(curves, role, level, output)
                assert found == pytest.approx(total, rel=TOLERANCE), f"{role} at {level}, output {output}"


@pytest.mark.parametrize("name", SETS)
def test_the_oracle_knows_what_prompts_cost(name: str) -> None:
    curves = SETS[name]
    for role in ROLES:
        engine = curves.speculative if role == "speculative" else curves.baseline
        known = with_prompts(engine, curves.prompt, curves.output)
        for level, total in curves.measured[role].totals.items():
            assert level * known.rate(level) == pytest.approx(total, rel=0.06)


def test_the_flashinfer_arms_are_those_of_the_threshold_page() -> None:
    page = REPOSITORY / "docs" / "policies" / "threshold.md"
    [rows] = [table for table in tables(page) if any("EAGLE-3 tree" in head for head in table[0])]
    arms = {"baseline": ("tree", "baseline"), "EAGLE-3 tree": ("tree", "speculative")}
    arms["SGLang's adaptive"] = ("adaptive", "speculative")
    for row in rows:
        for head, cell in row.items():
            for start, (arm, role) in arms.items():
                if head.startswith(start):
                    total = float(cell.removeprefix("about ").replace(",", ""))
                    totals = SETS[f"h200-flashinfer-{arm}"].measured[role].totals
                    assert totals[int(row["concurrency"])] == total


@pytest.mark.parametrize("name", SETS)
def test_nobody_is_faster_in_company(name: str) -> None:
    for engine in (SETS[name].speculative, SETS[name].baseline):
        assert list(engine.rates[1:]) == sorted(engine.rates[1:], reverse=True)


def test_without_prompts_the_curve_is_what_was_measured() -> None:
    engine = model(Measured({1: 10.0, 3: 24.0}, 0, 1001, 0.0, 1.0, 1.0), 6)
    assert [round(held * engine.rate(held), 1) for held in (1, 2, 3, 6, 9)] == [10.0, 17.0, 24.0, 24.0, 24.0]
    assert with_prompts(engine, 0, 1001) is engine


def test_what_a_request_waits_for_alone_and_in_company_is_taken_out_and_put_in_again() -> None:
    measured = Measured({1: 100.0, 2: 160.0}, 0, 81, 0.0, float("inf"), 1.0, lag=20.0, lag_alone=5.0)
    engine = model(measured, 2)
    assert list(engine.rates[1:]) == pytest.approx([100.0 * 85.0 / 81.0, 80.0 * 100.0 / 81.0])
    known = with_prompts(engine, 0.0, 81.0)
    assert [held * known.rate(held) for held in (1, 2)] == pytest.approx([100.0, 160.0])


def test_prompts_that_take_more_than_the_whole_are_refused() -> None:
    with pytest.raises(CurveError, match="leave no time"):
        model(Measured({1: 100.0}, 1000, 10, 0.0, 100.0, 1.0), 4)
    assert with_prompts(EngineModel([0.0, 50.0, 40.0], 0.1), 0, 10).rate(2) < 40.0


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    assert catalogue.find(str(path)).name == "mine-one"
    path.write_text(FILE.replace("one:", "two:") + FILE.splitlines()[-1] + "\n")
    assert catalogue.find(f"{path}:two").name == "mine-two"
    with pytest.raises(CatalogueError, match="has the arms two, one: name one"):
        catalogue.find(str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("source: made up", "source: ''", "source: String should have at least 1 character"),
        ("10, 8: 40", "10, 0: 40", "greater than or equal to 1"),
        ("{1: 20, 8: 30}", "{}", "speculative.one.total"),
        ("{1: 20, 8: 30}", "{1: 1000000}", "leave no time"),
        ("accept_length: 2,", "accept_lenght: 2,", "accept_len"),
        ("source: made up", "source: [", "mine.yaml"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FILE
    path = tmp_path / "mine.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(CatalogueError, match=message):
        catalogue.find(str(path))


def test_unknown_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="no curve set is called nothing: h200-"):
        catalogue.find("nothing")
    with pytest.raises(CatalogueError, match="No such file"):
        catalogue.find(str(tmp_path / "none.yaml"))
