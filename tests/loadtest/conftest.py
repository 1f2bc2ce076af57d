"""A gateway over fake engines, as load tests meet it."""

from collections.abc import Iterator

import pytest

from tests.support.config import config
from tests.support.site import Site, fake_model, site
from tests.support.threads import EngineThread

THRESHOLD = 2


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread) -> Iterator[Site]:
    """Threshold 2, and requests may be pinned."""
    policy = {"threshold": THRESHOLD, "allow_pinning": True}
    with site(engine_thread, settings=lambda *engines: config(fake_model(*engines, policy=policy))) as running:
        yield running
