"""The live page in a real browser, while requests run.

With SPILLWAY_IMAGES=FOLDER in the environment the pictures of the documentation are taken into that folder.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.support.behaviours import answer
from tests.support.config import config
from tests.support.exchange import Gate
from tests.support.site import Site, fake_model, site
from tests.support.threads import EngineThread
from tests.ui.traffic import Traffic

POOLS = ("speculative", "baseline")
DESK, PHONE = ViewportSize(width=1240, height=1000), ViewportSize(width=390, height=844)
HOSTILE = "<img/src=x/onerror=alert(1)>"


@contextmanager
def opened(browser: Browser, here: Site, size: ViewportSize = DESK, scheme: Any = "light") -> Iterator[Page]:
    """The page, once it is live. Nothing may be complained of, or loaded from elsewhere, until it is closed."""
    wrong: list[str] = []
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    allowed = (here.gateway.base_url, "data:")
    page.on("request", lambda it: wrong.extend([] if it.url.startswith(allowed) else [it.url]))
    page.goto(f"{here.gateway.base_url}/ui")
    expect(page.locator("#link")).to_have_text("live", timeout=20_000)
    yield page
    page.close()
    assert wrong == []


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def field(page: Page, pool: str, name: str) -> str:
    return page.locator(f"[data-pool={pool}] [data-field={name}]").inner_text()


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread) -> Iterator[Site]:
    """Two replicas a pool, threshold 4, traffic for more than that."""
    with site(
        engine_thread,
        speculative=2,
        baseline=2,
        settings=lambda fast, plain: config(
            fake_model(fast, plain, {"max_inflight": 16}, policy={"threshold": 4}, name="kimi-k2.5", aliases=["fake"])
        ),
    ) as running:
        yield running


@pytest.fixture
def busy(here: Site) -> Iterator[Site]:
    """The same under traffic."""
    for engine, gap in zip(here.engines, (0.03, 0.03, 0.06, 0.06), strict=True):
        engine.respond = answer(["word "] * 12, gap=gap)
    with Traffic(here, clients=11):
        yield here


def test_charts_move_and_decisions_pass_by(browser: Browser, busy: Site) -> None:
    with opened(browser, busy) as page:
        line = page.locator("[data-pool=speculative] .load .line")
        until(lambda: (line.get_attribute("d") or "").count("L") > 3)
        before, first = line.get_attribute("d"), page.locator("#requests tr").first.inner_text()
        until(lambda: line.get_attribute("d") != before)
        until(lambda: page.locator("#requests tr").first.inner_text() != first)
        until(lambda: all(float(field(page, pool, "tokens")) > 0 for pool in POOLS))
        until(lambda: all("s" in field(page, pool, "ttft") for pool in POOLS))
        reasons = page.locator("#requests td:nth-child(4)")
        until(lambda: {"under threshold", "over threshold"} <= set(reasons.all_inner_texts()))
        assert page.locator("#strip i").count() > 20


@pytest.mark.parametrize(
    ("name", "size", "scheme"), [("light", DESK, "light"), ("dark", DESK, "dark"), ("phone", PHONE, "dark")]
)
def test_it_fits_and_has_its_colours(browser: Browser, busy: Site, name: str, size: ViewportSize, scheme: str) -> None:
    with opened(browser, busy, size, scheme) as page:
        expect(page.locator("#requests tr").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
        assert (int(shade) > 128) == (scheme == "light")
        folder = os.environ.get("SPILLWAY_IMAGES")
        if folder:
            time.sleep(60 if name == "light" else 3)
            page.screenshot(path=Path(folder) / f"ui-{name}.png")


def test_numbers_are_those_of_status(browser: Browser, here: Site) -> None:
    gate = Gate()
    for engine in here.engines:
        engine.respond = answer(hold=gate)
    with opened(browser, here) as page, Traffic(here, clients=11):

        def told() -> list[list[str]]:
            return [[field(page, pool, name) for name in ("inflight", "limit", "ready")] for pool in POOLS]

        def known() -> list[list[str]]:
            pools = [here.gateway.pool_status(pool) for pool in POOLS]
            return [[str(it["inflight"]), str(it["limit"]), f"{it['ready']} of {len(it['replicas'])}"] for it in pools]

        until(lambda: known() == [["8", "8", "2 of 2"], ["3", "32", "2 of 2"]])
        until(lambda: told() == known())
        expect(page.locator("[data-pool=speculative] .badge")).to_have_text("at its limit")
        for pool, limit in zip(POOLS, ("4", "16"), strict=True):
            expect(page.locator(f"[data-pool={pool}] progress").first).to_have_attribute("max", limit)
        here.baseline[0].health = "unready"
        until(lambda: field(page, "baseline", "ready") == "1 of 2")
        trouble = page.locator("[data-pool=baseline] [data-state=ejected] .state")
        expect(trouble).to_contain_text("503")
        here.baseline[0].health = "ok"
        gate.open()


CURVES = {
    "speculative": [{"inflight": 1, "rate": 90}, {"inflight": 8, "rate": 20}],
    "baseline": [{"inflight": 1, "rate": 60}, {"inflight": 8, "rate": 30}],
}


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_what_is_learned_is_drawn(
    browser: Browser, engine_thread: EngineThread, size: ViewportSize, scheme: str
) -> None:
    policy = {"kind": "adaptive", "curves": CURVES}
    with site(engine_thread, settings=lambda fast, plain: config(fake_model(fast, plain, policy=policy))) as there:
        for engine in there.engines:
            engine.respond = answer(["word "] * 12, gap=0.02)
        with opened(browser, there, size, scheme) as page, Traffic(there, clients=6):

            def drawn() -> list[int]:
                lines = [page.locator(f"[data-model=fake] .curves .line.{pool}") for pool in POOLS]
                return [(line.get_attribute("d") or "").count("L") for line in lines]

            until(lambda: min(drawn()) >= 3)

            def known() -> str:
                [told] = there.gateway.status()["models"]
                crossover = told["adaptive"]["crossover"]
                return "no crossover known" if crossover is None else f"crossover at {crossover} on a replica"

            words = page.locator("[data-field=learned]")
            until(lambda: known() in words.inner_text())
            until(lambda: "decided the last by" in words.inner_text())
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
            folder = os.environ.get("SPILLWAY_IMAGES")
            if folder:
                time.sleep(30)
                page.screenshot(path=Path(folder) / f"ui-learned-{scheme}.png")


def test_what_came_past_the_gateway_is_shown(browser: Browser, engine_thread: EngineThread) -> None:
    load = {"engine_load": {"enabled": True, "interval_seconds": 0.2}}
    with site(engine_thread, settings=lambda fast, plain: config(fake_model(fast, plain, load))) as there:
        for engine in there.engines:
            engine.metrics = "llamacpp:requests_processing 7\n"
        with opened(browser, there) as page:
            outside = page.locator("[data-pool=speculative] [data-field=outside]")
            expect(outside).to_have_text(", and 7 past the gateway", timeout=20_000)
            expect(page.locator("[data-pool=speculative] .badge")).to_have_text("at its limit")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_hundred_replicas_and_a_hostile_name(
    browser: Browser, engine_thread: EngineThread, size: ViewportSize
) -> None:
    with ExitStack() as stack:
        [engine] = stack.enter_context(engine_thread.engines(1))
        urls = [f"{engine.url}/{number}" for number in range(100)]
        many = stack.enter_context(
            site(
                engine_thread,
                settings=lambda fast, _: config(
                    {**fake_model(fast, []), "name": HOSTILE},
                    {"name": "many", "pools": {"baseline": {"discovery": {"static": urls}}}},
                ),
                baseline=0,
                wait_for="/health",
            )
        )
        with opened(browser, many, size) as page:
            expect(page.locator("[data-model=many] .cells i")).to_have_count(100)
            expect(page.locator("main h2").first).to_have_text(HOSTILE)
            assert page.locator("main img").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_it_holds_up_no_shutdown(browser: Browser, engine_thread: EngineThread) -> None:
    with site(engine_thread) as there:
        page = browser.new_page()
        page.goto(f"{there.gateway.base_url}/ui")
        expect(page.locator("#link")).to_have_text("live", timeout=20_000)
        began = time.monotonic()
        there.gateway.terminate()
        assert there.gateway.process.wait(20) == 0
        assert time.monotonic() - began < 10, "a page that is left open holds up nothing"
        expect(page.locator("#link")).to_have_text("no answer", timeout=20_000)
        page.close()
