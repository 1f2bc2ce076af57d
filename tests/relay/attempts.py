"""Attempts at real engines on sockets, with the load they cause in sight."""

import json
import time
from dataclasses import dataclass
from typing import Any

from gateway.config import Limits, ModelConfig
from gateway.models import Grant, Model
from gateway.relay.attempt import Attempt
from gateway.relay.call import Call
from gateway.relay.connections import Connections
from gateway.relay.endpoints import find_endpoint
from gateway.relay.inspect import inspect_json
from gateway.relay.watchdog import Watchdog
from gateway.telemetry import Record
from tests.models.fleet import Clock, Watch, recover, take
from tests.relay.downstream import Downstream
from tests.support.engine import FakeEngine


@dataclass
class Try:
    """One attempt, and everything it touches."""

    attempt: Attempt
    grant: Grant
    call: Call
    downstream: Downstream

    async def run(self) -> Any:
        """Start it and, if it got an answer, deliver that; then close it and give the lease back."""
        try:
            failure = await self.attempt.start()
            return failure or await self.attempt.deliver([])
        finally:
            self.attempt.close()
            self.grant.lease.release()


class Bench:
    """One model with one speculative replica, which is `engine`."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        pools = {"speculative": {"discovery": {"static": [engine.url]}}}
        config = ModelConfig.model_validate({"name": "m", "pools": pools})
        self.model = Model(config, Watch(), Clock())
        self.pool = self.model.pools["speculative"]
        [self.replica] = self.pool.replicas.values()
        recover(self.pool, self.replica)
        self.connections = Connections(time.monotonic)
        self.limits = Limits()

    def attempt(self, **fields: Any) -> Try:
        """A chat request of these fields, admitted."""
        body = json.dumps({"model": "m", "messages": [], **fields}).encode()
        downstream = Downstream()
        call = Call(
            downstream.scope(),
            {},
            find_endpoint("/v1/chat/completions", "POST"),
            downstream.client(),
            Record(id="r", path="/", started=0.0),
            self.model,
            inspect_json(body),
            body,
            None,
            b"r",
            b"t",
        )
        grant = take(self.model)
        upstream = self.connections.of(self.replica)
        return Try(Attempt(call, grant, upstream, Watchdog(self.limits), time.monotonic), grant, call, downstream)
