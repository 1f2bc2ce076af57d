"""One attempt: what it does to its connection, its lease and its client, however the engine behaves."""

import asyncio

from tests.relay.attempts import bench
from tests.support.behaviours import End, play
from tests.support.exchange import Gate
from tests.support.wire import json_reply

OK = json_reply(200, {"usage": {"prompt_tokens": 7, "completion_tokens": 3}})


async def test_a_stale_connection_is_replaced_under_the_same_lease() -> None:
    """The engine closes a kept connection as it is reused; the request goes on, and counts all the while."""
    async with bench() as here:
        assert await here.attempt().run() is None
        gate = Gate()
        here.engine.script.extend([play(End.CLOSE), play(gate, OK)])
        second = here.attempt()
        running = asyncio.create_task(second.run())
        await here.engine.next_request(2)
        assert second.grant.lease.held
        assert here.pool.inflight == here.replica.inflight == 1
        gate.open()
        assert await running is None
        assert second.downstream.complete
        assert here.pool.inflight == 0
        assert second.call.record.retries == 1
