"""`spillway simulate` as a command, and what its results are."""

import csv
import json
import subprocess
from pathlib import Path

import pytest

from gateway import cli
from gateway.simulator import compare, specs
from gateway.simulator.compare import Case
from gateway.simulator.measures import Histogram
from gateway.simulator.sharing import Sharing
from gateway.simulator.simulation import Plan, Step
from gateway.simulator.specs import SpecError
from tests.support.lacking import lacking

SHORT = ["--requests", "300"]


def simulate(*options: str) -> int:
    return cli.main(["simulate", *options])


def test_a_table_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / name for name in ("r.json", "r.csv", "r.svg")]
    options = ["--load", "closed:1,10", "--policies", "pinned,spill:5,oracle", *SHORT]
    assert simulate(*options, "--json", str(files[0]), "--csv", str(files[1]), "--plot", str(files[2])) == 0
    table = capsys.readouterr().out
    assert table.startswith("h200-flashinfer-tree, closed:1\npolicy ")
    rows = json.loads(files[0].read_text())
    assert [(row["load"], row["policy"]) for row in rows] == [
        (load, policy)
        for load in ("closed:1", "closed:10")
        for policy in ("pinned:speculative", "pinned:baseline", "spill:5", "oracle")
    ]
    at_ten = {row["policy"]: row for row in rows if row["load"] == "closed:10"}
    assert at_ten["spill:5"]["throughput"] > at_ten["pinned:baseline"]["throughput"]
    assert at_ten["oracle"]["regret"] == 0.0
    assert at_ten["pinned:speculative"]["regret"] > 0.1
    with files[1].open() as file:
        assert [row["policy"] for row in csv.DictReader(file)] == [row["policy"] for row in rows]
    assert files[2].read_text().lstrip().startswith("<?xml")


def test_without_matplotlib_a_plot_is_refused_before_anything_is_simulated(tmp_path: Path) -> None:
    command = [*lacking("matplotlib"), "simulate", "--load", "closed:1", *SHORT]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    ended = subprocess.run([*command, "--plot", tmp_path / "x.svg"], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "spillway simulate: --plot needs matplotlib: in the checkout, pip install '.[simulate]'\n"


def test_the_same_command_says_the_same(tmp_path: Path) -> None:
    def run(name: str, *more: str) -> str:
        path = tmp_path / name
        load = ["--load", "bursts:5:80:20:0.3", "--output", "lognormal:256:1.0", "--replicas", "3x2"]
        policies = ["--policies", "switch:4,spill:4,oracle"]
        assert simulate(*load, *policies, "--timeline", "1", *SHORT, "--json", str(path), *more) == 0
        return path.read_text()

    assert run("a.json") == run("b.json", "--jobs", "3")
    assert run("a.json") != run("c.json", "--seed", "2")


def test_a_step_in_acceptance_shows_in_the_timeline(tmp_path: Path) -> None:
    path, plot = tmp_path / "r.json", tmp_path / "r.png"
    steps = ["--step", "30:1.3", "--step", "60:2.2"]
    options = ["--load", "closed:4", "--policies", "pinned:speculative", "--output", "exponential:64", *steps]
    more = ["--requests", "1000000", "--seconds", "90", "--timeline", "5", "--json", str(path), "--plot", str(plot)]
    assert simulate(*options, *more) == 0
    [row] = json.loads(path.read_text())
    speed = {look["time"]: look["speculative"] for look in row["looks"]}
    assert len(speed) == 18
    assert speed[55.0] < 0.75 * speed[25.0]
    assert speed[85.0] == pytest.approx(speed[25.0], rel=0.1)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_trace_ends_with_its_last_request(tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "r.json"
    path.write_text("arrival,prompt_tokens,output_tokens\n" + "".join(f"{n},50,{n + 1}\n" for n in range(20)))
    options = ["--load", f"trace:{path}:2", "--policies", "spill:1", "--warm-up", "0", "--timeline", "1"]
    assert simulate(*options, "--json", str(out)) == 0
    [row] = json.loads(out.read_text())
    assert row["requests"] == 20
    assert row["throughput"] * row["seconds"] == pytest.approx(sum(range(1, 21)))


def test_the_list_says_where_curves_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--list") == 0
    printed = capsys.readouterr().out
    assert "seed-node-eagle3" in printed
    assert "Assumed" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--curves", "none"], "no curve set is called none"),
        (["--policies", "best"], "best is no policy: pinned"),
        (["--policies", "spill:0"], "spill:0 is no policy"),
        (["--policies", "spill:4-2"], "spill:4-2 is no policy"),
        (["--load", "open"], "is no load"),
        (["--load", "closed:0"], "closed:0 is no load"),
        (["--load", "poisson:-1"], "is no load"),
        (["--load", "bursts:9:1:60:0.5"], "is no load"),
        (["--load", "trace:/nowhere.csv"], "No such file"),
        (["--replicas", "1"], "--replicas 1: two numbers"),
        (["--prompt", "many"], "many is no length"),
        (["--shared", "no"], "no is no way to share"),
        (["--step", "5"], "5 is no step"),
        (["--step", "5:0.5"], "at least one token"),
        (["--requests", "0"], "--requests 0: 1 or more"),
        (["--warm-up", "1"], "--warm-up 1.0: from 0 to below 1"),
        (["--max-inflight", "0"], "--max-inflight 0"),
        (["--jobs", "0"], "--jobs 0"),
    ],
)
def test_options_that_make_no_sense(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*SHORT, *options) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*SHORT, "--load", "closed:1", "--json", str(tmp_path / "no" / "r.json")) == 1
    assert "r.json: No such file" in capsys.readouterr().err


def test_words() -> None:
    assert specs.policies(["spill:2-4,pinned", "oracle"]) == [
        *(f"spill:{threshold}" for threshold in (2, 3, 4)),
        "pinned:speculative",
        "pinned:baseline",
        "oracle",
    ]
    assert specs.loads(["closed:1,5", "day:1:2"]) == ["closed:1", "closed:5", "day:1:2"]
    assert specs.steps(["9:1.5", "3:2"]) == (Step(3.0, 2.0), Step(9.0, 1.5))
    with pytest.raises(SpecError):
        specs.policies(["pinned:fast"])


@pytest.mark.parametrize("load", ["closed:4", "poisson:3"])
@pytest.mark.parametrize("shared", ["own", "time", 0.3])
def test_adaptive_learns_in_the_simulator(load: str, shared: Sharing) -> None:
    policies = specs.policies(["adaptive,oracle,pinned"])
    cases = [Case("local-edit", load, name, Plan(requests=1500), shared=shared, output="64") for name in policies]
    results = {result.policy: result for result in compare.with_regret(list(compare.run_all(cases)))}
    worst = max(result.regret or 0.0 for result in results.values())
    assert results["adaptive:throughput"].regret is not None
    assert results["adaptive:throughput"].regret < max(worst / 2.0, 0.03)


@pytest.mark.parametrize("curves", ["h200-flashinfer-tree", "local-edit"])
def test_no_fixed_policy_does_better_than_the_oracle_in_a_closed_loop(curves: str) -> None:
    policies = specs.policies(["pinned,spill:1-3,spill:6,spill:12,switch:2,switch:6,oracle"])
    cases = [
        Case(curves, f"closed:{level}", policy, Plan(requests=400), output="exponential:64")
        for level in (1, 4, 16, 40)
        for policy in policies
    ]
    for result in compare.with_regret(list(compare.run_all(cases))):
        assert result.regret is not None
        assert result.regret > -0.02, f"{result.load} {result.policy}"


def test_quantiles_are_near() -> None:
    histogram = Histogram()
    for number in range(1, 1001):
        histogram.add(number / 100.0)
    assert [histogram.quantile(share) for share in (0.01, 0.5, 0.99)] == pytest.approx([0.1, 5.0, 9.9], rel=0.006)
    assert histogram.mean == pytest.approx(5.005)
    assert (Histogram().mean, Histogram().quantile(0.5)) == (0.0, 0.0)
