"""The script against the policies themselves, on Redis and on Valkey."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.shared.machine import Gateways
from tests.support.redis import REDIS, RedisServer, redis_server, valkey


@pytest.fixture(scope="module", params=["redis", "valkey"])
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    with redis_server(binary=REDIS if request.param == "redis" else valkey()) as running:
        yield running


@pytest.mark.parametrize("few", [False, True], ids=["places", "few places"])
def test_any_order_of_steps(server: RedisServer, few: bool) -> None:
    class OnServer(Gateways):
        crowded = few

    OnServer.server = server
    run_state_machine_as_test(OnServer, settings=settings(max_examples=60, stateful_step_count=40 if few else 25))
