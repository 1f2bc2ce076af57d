"""A page of another origin calls the API in a real browser: in vain, until the configuration names its origin."""

import json
import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page

from tests.support.config import config
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread

KEY = "sk-of-the-page"
# As OpenAI's client for browsers asks.
ASK = """async ([url, key, body]) => {
    const headers = {"content-type": "application/json", "authorization": `Bearer ${key}`, "x-stainless-os": "Unknown"}
    const response = await fetch(url, {method: "POST", headers, body})
    return [response.status, response.headers.get("x-spillway-pool"), await response.text()]
}"""


def ask(page: Page, here: Site, key: str = KEY, **fields: Any) -> Any:
    return page.evaluate(ASK, [f"{here.gateway.base_url}{CHAT}", key, json.dumps(chat(**fields))])


def test_a_page_calls_the_api(engine_thread: EngineThread, browser: Browser) -> None:
    with site(
        engine_thread, settings=lambda fast, plain: config(fake_model(fast, plain), auth={"keys": [KEY]})
    ) as here:
        page = browser.new_page()
        origin = f"http://localhost:{here.gateway.port}"
        page.goto(f"{origin}/health")
        with pytest.raises(Error, match="Failed to fetch"):
            ask(page, here)
        assert here.requests() == 0

        settings = config(fake_model(here.speculative, here.baseline), auth={"keys": [KEY]})
        here.gateway.write_config({**settings, "cors": {"allowed_origins": [origin]}})
        deadline = time.monotonic() + 12
        while not here.gateway.metrics().total("spillway_config_reloads_total", result="applied"):
            assert time.monotonic() < deadline, here.gateway.output()
            time.sleep(0.05)
        status, pool, text = ask(page, here, stream=True)
        assert (status, pool) == (200, "speculative")
        assert text.endswith("data: [DONE]\n\n")
        assert ask(page, here, model="nope")[0] == 404
        assert ask(page, here, key="no")[0] == 401
        page.close()
