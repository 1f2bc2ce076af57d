"""What every suite shares."""

from collections.abc import Iterator

import pytest

from tests.support.threads import EngineThread


@pytest.fixture(scope="session")
def engine_thread() -> Iterator[EngineThread]:
    """A loop for fake engines that runs whatever the tests' own loops do."""
    with EngineThread() as thread:
        yield thread
