"""A whole relay in this process, before real engines, with its records at hand."""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from typing import Any

from gateway.api.auth import Keys
from gateway.config import Limits, ModelConfig, Retries
from gateway.models import Model, Models
from gateway.pools import Replica
from gateway.relay import Connections, Relay, RetryBudget, Settings, Watchdog
from gateway.telemetry import LineWriter, Metrics, Telemetry
from tests.models.fleet import Clock, Watch, recover
from tests.relay.downstream import Downstream
from tests.support.engine import FakeEngine


class Site:
    """Model `m` with these engines by role; every request's log line ends up in `lines`."""

    def __init__(self, speculative: Sequence[FakeEngine], baseline: Sequence[FakeEngine] = (), **policy: Any) -> None:
        self.metrics = Metrics()
        self.suspects: list[Replica] = []
        self.settings = Settings(Limits(), Keys(()))
        self.budget = RetryBudget(Retries())
        self.connections = Connections(time.monotonic)
        self._reading, self._writing = os.pipe()
        self._writer = LineWriter(self._writing, lambda _seconds, _call: None)
        models = Models(Watch(), Clock())
        pools = {
            role: {"discovery": {"static": [engine.url for engine in engines]}, "max_inflight": 2}
            for role, engines in (("speculative", speculative), ("baseline", baseline))
            if engines
        }
        config = {"name": "m", "pools": pools, "policy": {"threshold": 1, "allow_pinning": True, **policy}}
        models.reconfigure((ModelConfig.model_validate(config),))
        for model in models:
            for pool in model.pools.values():
                recover(pool, *pool.replicas.values())
        self.models = models
        self.relay = Relay(
            models,
            self.settings,
            self.connections,
            Telemetry(self.metrics, time.monotonic, self._writer, lambda _seconds, _call: None),
            Watchdog(self.settings.limits),
            self.budget,
            self.suspects.append,
            time.monotonic,
        )

    @property
    def model(self) -> Model:
        model = self.models.find("m")
        assert model is not None
        return model

    async def ask(self, body: bytes | None = None, headers: dict[str, str] | None = None, **fields: Any) -> Downstream:
        """Send a chat request and wait for its end."""
        downstream, answering = self.begin(body, headers, **fields)
        await asyncio.wait_for(answering, 5)
        return downstream

    def begin(
        self, body: bytes | None = None, headers: dict[str, str] | None = None, **fields: Any
    ) -> "tuple[Downstream, asyncio.Task[None]]":
        """Send a chat request."""
        chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
        downstream = Downstream(json.dumps(chat).encode() if body is None else body)
        sent = {"content-type": "application/json", **(headers or {})}
        scope = downstream.scope(headers=[(name.encode(), value.encode()) for name, value in sent.items()])
        return downstream, asyncio.create_task(self.relay(scope, downstream.receive, downstream.send))

    def close(self) -> bytes:
        """Nothing is in flight any more; returns all that was logged."""
        assert self.model.inflight == len(self.model.queue) == 0
        self.connections.close()
        self.metrics.before_collect()
        self._writer.close()
        os.close(self._writing)
        with os.fdopen(self._reading, "rb") as reading:
            return reading.read()

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


def told(downstream: Downstream, name: bytes) -> bytes | None:
    """A header of the response."""
    [start] = [message for message in downstream.messages if message["type"] == "http.response.start"]
    value = dict(start["headers"]).get(name)
    assert value is None or isinstance(value, bytes)
    return value
