"""What every suite shares."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.threads import EngineThread

# The same examples in every run, and no deadline: on a busy machine one would tell of its neighbours.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def engine_thread() -> Iterator[EngineThread]:
    """A loop for fake engines that runs whatever the tests' own loops do."""
    with EngineThread() as thread:
        yield thread
