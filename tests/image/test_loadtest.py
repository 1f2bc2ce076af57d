"""The image for load tests: built on the gateway's, and at work as the chart has it work."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.image.image import HERE, RESTRICTED, Container, Image, build_loadtest, serving
from tests.support.behaviours import answer
from tests.support.config import config
from tests.support.site import fake_model
from tests.support.threads import EngineThread

# The first of them fetches and builds everything, if they are run alone.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def loadtest(image: Image, context: Path) -> Image:
    return build_loadtest(image, "localhost/spillway-loadtest:test", context)


@pytest.fixture(scope="module")
def pinnable(
    image: Image, engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Container]:
    """A gateway that obeys the header by which the sweep chooses pools."""
    with engine_thread.engines(2) as engines:
        for engine in engines:
            engine.respond = answer(gap=0.01)
        [fast, plain] = engines
        settings = config(fake_model([fast], [plain], policy={"threshold": 2, "allow_pinning": True}))
        with serving(image, settings, tmp_path_factory.mktemp("gateway")) as running:
            running.wait("/ready")
            yield running


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """What is mounted for them."""
    folder = tmp_path / "results"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def run(image: Image, results: Path, *arguments: str) -> str:
    """A container that works and ends; what it prints. Raises ToolError."""
    given = ("run", "--rm", *RESTRICTED, *HERE, f"--volume={results}:/results", image.name, *arguments)
    return image.store.podman(*given, seconds=120)


def test_a_sweep(loadtest: Image, pinnable: Container, results: Path) -> None:
    few = ("--levels", "1,3", "--requests", "6", "--repeats", "1", "--settle", "0")
    said = run(loadtest, results, "sweep", "--url", pinnable.base_url, "--out", "/results", *few)
    assert "met     no request failed at any level" in said
    found = json.loads((results / "results.json").read_text())
    assert [cell["ok"] for cell in found["cells"]] == [6] * 6
    assert (results / "report.html").read_text().count("<svg") > 3


def test_locust(loadtest: Image, pinnable: Container, results: Path) -> None:
    few = ("--users", "3", "--spawn-rate", "3", "--tasks", "2", "--think", "0", "ChatUser")
    files = ("--csv", "/results/locust", "--html", "/results/locust.html", "--out", "/results")
    run(loadtest, results, "locust", "--headless", "--host", pinnable.base_url, *files, *few)
    with (results / "locust_stats.csv").open() as file:
        [row] = [row for row in csv.DictReader(file) if row["Type"] == "POST"]
    assert (row["Name"], row["Request Count"], row["Failure Count"]) == ("chat", "6", "0")
    assert (results / "locust.html").exists()
    assert (results / "report.html").read_text().count("<svg") == 3
