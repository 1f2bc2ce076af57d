"""Locust itself, headless, with the shipped users, before a real gateway over fake engines."""

import csv
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from tests.docs.session import free_port
from tests.support.behaviours import answer
from tests.support.site import Site

Rows = dict[tuple[str, str], dict[str, str]]


def locust(here: Site, folder: Path, *arguments: str) -> Rows:
    """Runs it; its rows by type and name."""
    here.respond(answer(gap=0.02))
    command = [sys.executable, "-m", "loadtest", "locust", "--headless", "--only-summary", "--loglevel", "ERROR"]
    command += ["--host", here.gateway.base_url, "--csv", str(folder / "run"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "run_stats.csv").open() as file:
        return {(row["Type"], row["Name"]): row for row in csv.DictReader(file)}


def count(rows: Rows, kind: str, name: str) -> int:
    return int(rows[kind, name]["Request Count"])


def test_every_kind_of_user(here: Site, tmp_path: Path) -> None:
    rows = locust(here, tmp_path, "--users", "11", "--spawn-rate", "11", "--run-time", "8s", "--long-tokens", "200")
    kinds = {name for kind, name in rows if kind == "POST"}
    assert {"chat", "conversation turn 1", "tools: call", "tools: result", "cancelled", "long prompt"} <= kinds
    assert "arrival" not in kinds
    assert all(int(row["Failure Count"]) == 0 for row in rows.values())
    for name in ("chat", "tools: call"):
        assert count(rows, "TTFT", name) == count(rows, "TPOT", name) == count(rows, "POST", name)
        assert float(rows["POST", name]["Average Content Size"]) == 3  # tokens, as the engine's usage says
    assert ("POOL", "speculative: under_threshold") in rows
    bodies = [request.json() for engine in here.engines for request in engine.requests]
    assert any(len(body["messages"]) > 3 for body in bodies if "tools" not in body)  # a conversation that grows
    assert any(body.get("tools") for body in bodies)
    assert any(len(body["messages"][0]["content"]) > 700 for body in bodies)


def test_poisson_arrivals_do_not_wait_for_answers(here: Site, tmp_path: Path) -> None:
    here_options = ("--shape", "poisson", "--rate", "20", "--duration", "5", "--pool", "baseline")
    rows = locust(here, tmp_path, *here_options)
    assert count(rows, "POST", "arrival") > 20
    assert ("LATE", "arrival") in rows
    assert {name for kind, name in rows if kind == "POOL"} == {"baseline: pinned"}
    assert {name for kind, name in rows if kind == "POST"} == {"arrival"}


def test_a_shape_ends_by_itself(here: Site, tmp_path: Path) -> None:
    rows = locust(here, tmp_path, "--shape", "spike", "--peak", "6", "--duration", "4", "ChatUser")
    assert {name for kind, name in rows if kind == "POST"} == {"chat"}


def test_a_master_and_a_worker(here: Site, tmp_path: Path) -> None:
    with free_port() as port:
        options = ["--shape", "poisson", "--rate", "10", "--duration", "4", "--loglevel", "ERROR"]
        worker = [sys.executable, "-m", "loadtest", "locust", "--host", here.gateway.base_url, *options]
        with subprocess.Popen([*worker, "--worker", "--master-port", str(port)]) as process:
            try:
                rows = locust(
                    here, tmp_path, "--master", "--master-bind-port", str(port), "--expect-workers", "1", *options
                )
                assert process.wait(20) == 0
            finally:
                process.kill()
    assert count(rows, "POST", "arrival") > 10
    assert ("TTFT", "arrival") in rows


def test_failures_are_locusts_failures(here: Site, tmp_path: Path) -> None:
    options = ["--users", "2", "--run-time", "3s", "--model", "unknown", "ChatUser"]
    command = [sys.executable, "-m", "locust", "-f", str(files("loadtest").joinpath("locustfile.py"))]
    command += ["--headless", "--host", here.gateway.base_url, "--csv", str(tmp_path / "run"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 1, done.stderr
    failures = (tmp_path / "run_failures.csv").read_text()
    assert "status: 404" in failures
