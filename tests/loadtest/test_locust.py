"""Locust itself, headless, with the shipped users, before a real gateway over fake engines."""

import csv
import itertools
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from loadtest.records import LOCUST, read
from tests.docs.session import free_port
from tests.support.behaviours import Behaviour, answer
from tests.support.exchange import Exchange, Gate
from tests.support.site import Site

Rows = dict[tuple[str, str], dict[str, str]]


def locust(here: Site, folder: Path, *arguments: str, behave: Behaviour | None = None) -> Rows:
    """Runs it; its rows by type and name."""
    here.respond(behave or answer(gap=0.02))
    command = [sys.executable, "-m", "loadtest", "locust", "--headless", "--only-summary", "--loglevel", "ERROR"]
    command += ["--host", here.gateway.base_url, "--csv", str(folder / "run"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "run_stats.csv").open() as file:
        return {(row["Type"], row["Name"]): row for row in csv.DictReader(file)}


def count(rows: Rows, kind: str, name: str) -> int:
    return int(rows[kind, name]["Request Count"])


def none_before(many: int) -> Behaviour:
    """No request is answered to its end before so many have come."""
    gate, number = Gate(), itertools.count(1)
    held = answer(hold=gate)

    async def behave(exchange: Exchange) -> None:
        if exchange.request.method == "POST" and next(number) == many:
            gate.open()
        await held(exchange)

    return behave


def test_every_kind_of_user(here: Site, tmp_path: Path) -> None:
    options = ("--users", "11", "--spawn-rate", "11", "--tasks", "3", "--think", "0", "--long-tokens", "200")
    rows = locust(here, tmp_path, *options, "--out", str(tmp_path))
    # By weight, six of the eleven chat and two converse; each does three things.
    assert {name: count(rows, kind, name) for kind, name in rows if kind == "POST"} == {
        "chat": 18,
        "conversation turn 1": 2,
        "conversation turn 2": 2,
        "conversation turn 3": 2,
        "long prompt": 3,
        "tools: call": 3,
        "tools: result": 3,
        "cancelled": 3,
    }
    assert all(int(row["Failure Count"]) == 0 for row in rows.values())
    for name in ("chat", "tools: call"):
        assert count(rows, "TTFT", name) == count(rows, "TPOT", name) == count(rows, "POST", name)
        assert float(rows["POST", name]["Average Content Size"]) == 3  # tokens, as the engine's usage says
    assert ("POOL", "speculative: under_threshold") in rows
    bodies = [request.json() for engine in here.engines for request in engine.requests]
    assert any(len(body["messages"]) > 3 for body in bodies if "tools" not in body)  # a conversation that grows
    assert any(body.get("tools") for body in bodies)
    assert any(len(body["messages"][0]["content"]) > 700 for body in bodies)
    found = read(tmp_path)
    assert (found.kind, found.model, found.plan["num_users"], found.plan["tasks"]) == (LOCUST, "fake", 11, 3)
    assert {cell.arm: cell.requests for cell in found.cells[1:]} == {
        name: count(rows, kind, name) for kind, name in rows if kind == "POST"
    }
    whole = found.cells[0]
    assert (whole.arm, whole.requests, whole.failed) == ("all", 36, 0)
    assert whole.ok == sum(whole.pools.values()) >= 33  # who cancels may come too late
    assert max(sum(look.inflight.values()) for look in found.looks) <= whole.level <= 11
    assert found.verdict.sentences[0].startswith("36 requests in ")
    assert (tmp_path / "results.csv").exists()
    assert (tmp_path / "report.html").read_text().count("<svg") == 3


def test_poisson_arrivals_do_not_wait_for_answers(here: Site, tmp_path: Path) -> None:
    here_options = ("--shape", "poisson", "--rate", "20", "--tasks", "40", "--pool", "baseline")
    rows = locust(here, tmp_path, *here_options, behave=none_before(30))
    assert count(rows, "POST", "arrival") == 40
    assert int(rows["POST", "arrival"]["Failure Count"]) == 0
    assert ("LATE", "arrival") in rows
    assert {name for kind, name in rows if kind == "POOL"} == {"baseline: pinned"}
    assert {name for kind, name in rows if kind == "POST"} == {"arrival"}


def test_a_shape_ends_by_itself(here: Site, tmp_path: Path) -> None:
    # The first users come with the shape's beginning; what they ask first may take longer than the shape.
    options = ("--shape", "spike", "--peak", "6", "--duration", "4", "--stop-timeout", "60", "ChatUser")
    rows = locust(here, tmp_path, *options)
    assert {name for kind, name in rows if kind == "POST"} == {"chat"}


def test_a_master_and_a_worker(here: Site, tmp_path: Path) -> None:
    with free_port() as port:
        options = ["--shape", "poisson", "--rate", "10", "--tasks", "15", "--loglevel", "ERROR"]
        worker = [sys.executable, "-m", "loadtest", "locust", "--host", here.gateway.base_url, *options]
        with subprocess.Popen([*worker, "--worker", "--master-port", str(port)]) as process:
            try:
                rows = locust(
                    here,
                    tmp_path,
                    "--master",
                    "--master-bind-port",
                    str(port),
                    "--expect-workers",
                    "1",
                    *options,
                    "--out",
                    str(tmp_path),
                )
                assert process.wait(20) == 0
            finally:
                process.kill()
    assert count(rows, "POST", "arrival") == 15
    assert ("TTFT", "arrival") in rows
    [whole, arrivals] = read(tmp_path).cells
    assert (whole.ok, arrivals.arm, arrivals.ok) == (15, "arrival", 15)
    assert 0 < arrivals.ttft.p50 < arrivals.latency.max < arrivals.seconds
    assert arrivals.generator.late.max > 0


def test_failures_are_locusts_failures(here: Site, tmp_path: Path) -> None:
    options = ["--users", "2", "--spawn-rate", "2", "--tasks", "1", "--model", "unknown", "ChatUser"]
    command = [sys.executable, "-m", "locust", "-f", str(files("loadtest").joinpath("locustfile.py"))]
    command += ["--headless", "--host", here.gateway.base_url, "--csv", str(tmp_path / "run"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 1, done.stderr
    failures = (tmp_path / "run_failures.csv").read_text()
    assert "status: 404" in failures
