"""A real Chromium without a window."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "google-chrome", "chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "scripts/test-tools.sh installs Chromium"
    with sync_playwright() as driver:
        # As root, and where namespaces are not allowed, there is no sandbox to be had; the page is ours.
        running = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()
