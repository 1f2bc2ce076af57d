"""The report: one file, which a browser shows whole."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from loadtest.records import Results, read
from loadtest.records import write as write_results
from loadtest.report import MissingLibraryError, write
from tests.loadtest.cells import BASELINE, SPECULATIVE, SPILLWAY, cell, of_users, results, sweep

PLOTS = ["throughput", "gain", "per_request", "ttft", "share", "timeline"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


def whole() -> Results:
    return results(sweep(speculative=SPECULATIVE, baseline=BASELINE, spillway=SPILLWAY))


def test_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    found = whole()
    path = write(found, tmp_path)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    problems: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert problems == []
    assert asked == [path.as_uri()]  # nothing beside the file
    assert page.locator("figure").count() == len(PLOTS)
    for name in PLOTS:
        box = page.locator(f"#{name} svg").bounding_box()
        assert box is not None
        assert box["width"] > 400
        assert box["height"] > 200
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    text = page.inner_text("body")
    assert all(sentence in text for sentence in found.verdict.sentences)
    assert "Load test of <b>fake</b>" in text  # shown, not obeyed
    assert page.locator("tr.spillway").count() == 3
    page.close()


def test_on_a_narrow_screen(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 420, "height": 800})
    page.goto(write(whole(), tmp_path).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_a_run_of_locusts(browser: Browser, tmp_path: Path) -> None:
    found = of_users()
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(write(found, tmp_path).as_uri())
    assert page.locator("figure").count() == 3
    for name in ("in_flight", "first_token", "pools"):
        box = page.locator(f"#{name} svg").bounding_box()
        assert box is not None
        assert box["width"] > 400
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    text = page.inner_text("body")
    assert all(sentence in text for sentence in found.verdict.sentences)
    assert "repeats" not in text
    page.close()


def test_a_run_in_which_nothing_succeeded(tmp_path: Path) -> None:
    failed = results([cell("spillway", 1, 0.0, ok=0, failures={"connect": 3})])
    text = write(failed, tmp_path).read_text()
    assert "<svg" not in text
    assert "3 of 3 failed with spillway at 1" in text


def test_without_matplotlib_there_are_no_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else present(name))
    text = write(whole(), tmp_path).read_text()
    assert "<svg" not in text
    assert "spillway-loadtest report DIR" in text


def test_without_jinja_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingLibraryError, match=r"\.\[loadtest\]"):
        write(whole(), tmp_path)
    assert "jinja2" in sys.modules  # it is there: only its absence was told


def test_results_survive_being_written(tmp_path: Path) -> None:
    found = whole()
    write_results(found, tmp_path)
    again = read(tmp_path)
    assert [(one.arm, one.level, one.pools) for one in again.cells] == [
        (one.arm, one.level, one.pools) for one in found.cells
    ]
    assert again.verdict.sentences == found.verdict.sentences


def test_the_same_results_make_the_same_file(tmp_path: Path) -> None:
    found = whole()
    assert write(found, tmp_path).read_text() == write(found, tmp_path).read_text()
