"""Time limits of running exchanges, checked once a second for all: a timer an event would cost more than the event."""

import asyncio
from collections.abc import Iterator

from gateway.config import Limits
from gateway.load import Lease
from gateway.relay.engine import EngineTimeoutError
from gateway.relay.exchange import Exchange

_PERIOD = 1.0


class Watchdog:
    """Ends exchanges in which nothing moves."""

    def __init__(self, limits: Limits) -> None:
        """`limits` may be replaced while it runs."""
        self.limits = limits
        self._running: set[Exchange] = set()

    def add(self, exchange: Exchange) -> None:
        """Watch over it."""
        self._running.add(exchange)

    def remove(self, exchange: Exchange) -> None:
        """It is over."""
        self._running.discard(exchange)

    def streaming(self) -> Iterator[tuple[Lease, int]]:
        """The events so far of each response that is under way, by its lease."""
        return ((exchange.lease, exchange.events) for exchange in self._running)

    async def run(self) -> None:
        """Look once a second, until cancelled."""
        while True:
            await asyncio.sleep(_PERIOD)
            self.look()

    def look(self) -> None:
        """Look at every exchange, a second after the last time."""
        for exchange in list(self._running):
            self._check(exchange)

    def _check(self, exchange: Exchange) -> None:
        limits = self.limits
        if not exchange.answering:
            if exchange.now() - exchange.sent > limits.first_byte_seconds:
                _end(exchange, f"no first byte within {limits.first_byte_seconds:g} s")
            return
        idle, on_client = exchange.tick(_PERIOD)
        if on_client:
            if idle >= limits.client_stall_seconds:
                exchange.client.abort()
        elif idle >= limits.idle_seconds:
            _end(exchange, f"nothing sent for {limits.idle_seconds:g} s")


def _end(exchange: Exchange, message: str) -> None:
    exchange.connection.fail(EngineTimeoutError(message, answered=exchange.status != 0))
