"""A Redis for a test's gateways."""

from collections.abc import Iterator

import pytest

from tests.support.redis import RedisServer, redis_server


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server
