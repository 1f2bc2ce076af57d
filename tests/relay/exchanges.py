"""An exchange between an engine without a socket and a client that reads when it likes."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from gateway.load import Lease
from gateway.relay.exchange import Exchange
from tests.relay.downstream import Downstream
from tests.relay.wiretap import Wire
from tests.support.wire import CHUNKED, head


@dataclass
class Count:
    inflight: int = 0


class Passing:
    """The request has been sent; what the engine answers goes to the exchange."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.wire = Wire()
        self.downstream = Downstream()
        self.client = self.downstream.client()
        self.load = Count()
        self.lease = Lease(self.load, Count(), lambda: None)
        self.exchange = Exchange(self.wire.connection, self.client, self.lease, now)
        self.wire.connection.send(b"GET / HTTP/1.1\r\n\r\n", b"", self.exchange)
        self.delivering: asyncio.Task[bool] | None = None

    def begin(self, *pieces: bytes) -> None:
        """The engine sends its head, chunked, and these pieces."""
        self.wire.sends(head(200, CHUNKED), *pieces)

    def deliver(self) -> "asyncio.Task[bool]":
        self.delivering = asyncio.create_task(self.exchange.deliver())
        return self.delivering

    async def result(self) -> bool:
        assert self.delivering is not None
        return await asyncio.wait_for(self.delivering, 2)


async def turns(count: int = 6) -> None:
    """Let everything run that is due."""
    for _ in range(count):
        await asyncio.sleep(0)
