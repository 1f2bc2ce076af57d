"""The command `sweep` before a real gateway: arms, placement, failures, files."""

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loadtest.records import BadResultsError, read
from tests.loadtest.conftest import THRESHOLD
from tests.support.behaviours import answer, broken_stream, fail
from tests.support.config import config
from tests.support.site import Site, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_events

QUICK = ("--repeats", "1", "--requests", "6", "--warmup", "1", "--settle", "0", "--no-level-warmup")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs spillway-loadtest."""
    return subprocess.run(
        [sys.executable, "-m", "loadtest", *arguments], capture_output=True, text=True, timeout=100, check=False
    )


def sweep(here: Site, folder: Path, *options: str, quick: Sequence[str] = QUICK) -> tuple[int, dict[str, Any]]:
    """Its exit status and its results."""
    done = command("sweep", "--url", here.gateway.base_url, "--out", str(folder), *quick, *options)
    assert "Traceback" not in done.stderr, done.stderr
    assert (folder / "results.json").exists(), done.stderr
    return done.returncode, json.loads((folder / "results.json").read_text())


def test_arms_go_where_they_should(here: Site, tmp_path: Path) -> None:
    here.respond(answer(["word "] * 10, gap=0.03))
    status, found = sweep(here, tmp_path, "--levels", "1,8", "--threshold-levels")
    assert status == 0
    assert found["plan"]["levels"] == sorted({1, 8, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, 2 * THRESHOLD})
    assert (found["model"], found["policy"]["threshold"]) == ("fake", THRESHOLD)
    assert found["replicas"] == {"speculative": 1, "baseline": 1}
    assert len(found["cells"]) == 3 * 5
    for cell in found["cells"]:
        assert (cell["failures"], cell["ok"]) == ({}, cell["requests"])
        assert cell["counted"]
        if cell["arm"] != "spillway":
            assert cell["pools"] == {cell["arm"]: cell["ok"]}
            assert cell["reasons"] == {"pinned": cell["ok"]}
        elif cell["level"] <= THRESHOLD:
            assert cell["reasons"] == {"under_threshold": cell["ok"]}
        else:
            assert set(cell["reasons"]) == {"under_threshold", "over_threshold"}
    looks = [look for look in found["looks"] if look["arm"] == "spillway" and look["level"] == 8]
    assert looks
    assert all(look["limits"]["speculative"] == THRESHOLD for look in looks)
    assert all(look["inflight"]["speculative"] <= THRESHOLD for look in looks)
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    assert {row["arm"] for row in rows if row["pool_baseline"] != "0"} == {"baseline", "spillway"}
    assert "<html" in (tmp_path / "report.html").read_text()


def test_prompts_are_unique_and_the_same_for_every_arm(here: Site, tmp_path: Path) -> None:
    here.respond(answer())
    sweep(here, tmp_path, "--levels", "2", "--body", '{"ignore_eos": true}')
    bodies = [request.json() for engine in here.engines for request in engine.requests]
    texts = [body["messages"][0]["content"] for body in bodies]
    assert len(set(texts)) == len(texts) == 3 * (6 + 1)
    assert all(body["ignore_eos"] and body["stream_options"] == {"include_usage": True} for body in bodies)
    by_arm: dict[str, list[str]] = {}
    for text in texts:
        first, _, rest = text.partition("\n\n")
        by_arm.setdefault(first.rstrip(".").rpartition("-")[2], []).append(rest)
    assert len({tuple(sorted(rests)) for rests in by_arm.values()}) == 1


def test_failures_are_counted_by_kind(here: Site, tmp_path: Path) -> None:
    here.respond(answer())
    here.baseline[0].respond = broken_stream(chat_events(("one ",))[:2])
    arms = ("--arm", "speculative=pool:speculative", "--arm", "mixed")
    for engine in here.speculative:  # after the warm-up of both arms
        engine.script.extend([answer(), answer(), fail(429), fail(400)])
    status, found = sweep(here, tmp_path, "--levels", "1", *arms)
    assert status == 1
    kinds: dict[str, int] = {}
    for cell in found["cells"]:
        for kind, count in cell["failures"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    assert kinds == {"rejected": 1, "status": 1}
    assert any("failed with" in sentence for sentence in found["verdict"]["sentences"])


def test_an_arm_by_url(here: Site, tmp_path: Path) -> None:
    here.respond(answer())
    status, found = sweep(
        here, tmp_path, "--levels", "1", "--arm", f"direct={here.baseline[0].url}", "--arm", "spillway"
    )
    assert status == 0
    assert {cell["arm"]: cell["pools"] for cell in found["cells"]} == {"direct": {}, "spillway": {"speculative": 6}}


def test_a_gateway_that_does_not_obey_the_header(engine_thread: EngineThread, tmp_path: Path) -> None:
    with site(engine_thread, settings=lambda *engines: config(fake_model(*engines))) as closed:
        closed.respond(answer())
        done = command("sweep", "--url", closed.gateway.base_url, "--levels", "1", "--out", str(tmp_path), *QUICK)
    assert done.returncode == 2
    assert "the arm" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--url", "http://127.0.0.1:9"), "names no model"),
        (("--url", "localhost:8080"), "is not a URL"),
        (("--url", "http://127.0.0.1:9", "--levels", "x", "--model", "m"), "not a list of levels"),
        (("--url", "http://127.0.0.1:9", "--mix", "poems", "--model", "m"), "no kind of prompts"),
        (("--url", "http://127.0.0.1:9", "--model", "m", "--levels", "1"), "no request of the arm"),
        (("--url", "http://127.0.0.1:9", "--model", "m", "--threshold-levels"), "limit in force is not known"),
    ],
)
def test_what_can_not_be_run(options: tuple[str, ...], said: str) -> None:
    done = command("sweep", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_report_can_be_made_again(here: Site, tmp_path: Path) -> None:
    here.respond(answer())
    sweep(here, tmp_path, "--levels", "1")
    before = (tmp_path / "results.json").read_bytes()
    (tmp_path / "report.html").unlink()
    done = command("report", str(tmp_path), "--plot", str(tmp_path / "plot.svg"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    assert (tmp_path / "results.json").read_bytes() == before
    with pytest.raises(BadResultsError, match="can't be read"):
        read(tmp_path / "nowhere")
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(BadResultsError, match="not the result of a run"):
        read(tmp_path)


def test_no_library_of_the_extra_is_needed_to_measure(here: Site, tmp_path: Path) -> None:
    """On a machine that has only the gateway's own packages the figures come, and the report can be made elsewhere."""
    here.respond(answer())
    hide = "import sys; sys.modules.update(dict.fromkeys(('jinja2', 'matplotlib', 'locust', 'gevent')))"
    code = f"{hide}; import importlib.util as u; f = u.find_spec"
    code += "; u.find_spec = lambda n, *a: None if n in ('jinja2', 'matplotlib') else f(n, *a)"
    code += "; from loadtest.cli import main; sys.exit(main())"
    arguments = ["sweep", "--url", here.gateway.base_url, "--levels", "1", "--out", str(tmp_path), *QUICK]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "no report.html" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.csv", "results.json"]
