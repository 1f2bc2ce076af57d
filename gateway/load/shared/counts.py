"""All links of one gateway: one for each model."""

import asyncio
import itertools
import logging
import os
import socket
import time
from collections.abc import Callable

from gateway.config import Redis
from gateway.load.shared.exchange import Correspondent, Exchange
from gateway.load.shared.explained import explained
from gateway.load.shared.keeper import Keeper
from gateway.load.shared.link import Link
from gateway.load.shared.parties import Owner, State

_log = logging.getLogger("spillway")


class SharedCounts:
    """What a gateway shares with others through Redis. `failures` counts by model and kind."""

    def __init__(self, settings: Redis, gateway: str, on_wait: Callable[[str, float], None]) -> None:
        """`on_wait` is told the model and the seconds of each answer that a request waited for."""
        self.settings = settings
        self.gateway = gateway
        self.failures: dict[tuple[str, str], int] = {}
        self.since = time.time()
        self.waited = on_wait
        # A model that comes back must not be taken for what it was.
        self._names = itertools.count(1)
        self._links: dict[Link, Keeper] = {}
        self._exchanges: set[Exchange] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._said: State = "joining"

    def link(self, model: str, owner: Owner) -> Link:
        """Share the counts of a model from now on."""
        link = Link(model, self.settings, self.gateway, owner, self, self._names)
        self._links[link] = Keeper(link, self.settings, f"spillway-{self.gateway}")
        return link

    def unlink(self, link: Link) -> None:
        """The model is gone, and nothing of it is in flight."""
        self._close(self._links.pop(link))

    def exchange(self, model: str, kept: float, correspondent: Correspondent) -> Exchange:
        """Exchange texts with the model's other gateways from now on; one is dropped that is not new for so long."""
        exchange = Exchange(model, self.settings, self.gateway, kept, correspondent)
        self._exchanges.add(exchange)
        return exchange

    def end(self, exchange: Exchange) -> None:
        """No longer."""
        self._exchanges.discard(exchange)
        self._close(exchange)

    @property
    def state(self) -> State:
        """Down if one model's link is, up if all are."""
        states = {link.state for link in self._links}
        return "down" if "down" in states else "joining" if "joining" in states else "up"

    @property
    def error(self) -> str | None:
        """Where it is down and why."""
        error = next((link.error for link in self._links if link.state == "down"), None)
        return None if error is None else explained(error, self.settings)

    @property
    def address(self) -> str | None:
        """The server in use, the first model's in a cluster; None while there is none."""
        for link, keeper in self._links.items():
            if keeper.address is not None and link.state == "up":
                host, port = keeper.address
                return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return None

    def look(self) -> None:
        """Take in what Redis has answered, while a long turn of the event loop goes on. Raises nothing."""
        for link in self._links:
            if link.flight.steps:
                try:
                    link.look()
                except Exception:
                    _log.exception("redis: what it says of the counts of %s can't be taken in", link.model)

    async def refresh(self) -> None:
        """Bring all counts up to date, as far as Redis says them in time."""
        await asyncio.gather(*(link.refresh() for link in self._links))

    async def close(self) -> None:
        """Take leave of Redis."""
        open_ones: list[Keeper | Exchange] = [*self._links.values(), *self._exchanges]
        await asyncio.gather(*(each.close() for each in open_ones), *self._closing)

    def _close(self, ended: Keeper | Exchange) -> None:
        closing = asyncio.create_task(ended.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    # What the links tell

    def changed(self) -> None:
        """A link's state is another: say so once for all, when it is news."""
        state = self.state
        if state in ("joining", self._said):
            return
        self._said, self.since = state, time.time()
        gateways = min((link.gateways for link in self._links), default=1)
        if state == "up":
            _log.info("redis at %s: in-flight counts are shared, gateways: %d", self.address, gateways)
        else:
            text = "redis: %s; until it is back this gateway decides by itself, with the share of one of %d gateways"
            _log.warning(text, self.error, gateways)

    def failed(self, model: str, kind: str) -> None:
        """Redis failed."""
        self.failures[model, kind] = self.failures.get((model, kind), 0) + 1

    def forgotten(self, model: str, seconds: float, held: int) -> None:
        """This gateway was silent for too long, or Redis has lost what it knew."""
        self.failed(model, "forgotten")
        text = "redis had forgotten this gateway, last heard %.3f s ago: its requests in flight for %s, %d, count again"
        _log.warning(text, seconds, model, held)


def gateway_id() -> str:
    """A name for this process: that of its host, and something that no other process on a host of that name has."""
    return f"{socket.gethostname()}-{os.urandom(4).hex()}"
