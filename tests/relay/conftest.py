"""These run on the event loop that the gateway runs on."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

from tests.relay.downstream import Downstream


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    del config, item
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(params=[True, False], ids=["in one step", "in messages"])
def whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Bodies that are whole go through in one step, or in ASGI's messages as all others do."""
    monkeypatch.setattr(Downstream, "takes_whole", request.param)
    return bool(request.param)
