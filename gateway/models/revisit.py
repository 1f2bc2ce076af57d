"""Requests that wait for room where Redis knows of it: nobody tells us what others give back, so we ask."""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from time import monotonic

from gateway.load import Ticket, WaitQueue
from gateway.load.shared import POLL_SECONDS, Timer
from gateway.models.asking import Asking
from gateway.models.grant import Grant
from gateway.models.placing import Ask


class Revisits:
    """Asks for who waits longest in each lane: whenever something was given back here, and every so often."""

    def __init__(self, queue: WaitQueue[Grant], ask: Callable[[Ask, Callable[[], None], float], Asking]) -> None:
        """`ask` asks Redis, for one that waits since a monotonic time."""
        self._queue = queue
        self._ask = ask
        self._asks: dict[Ticket[Grant], tuple[Ask, float]] = {}
        self._trying: dict[Hashable, Asking] = {}
        self._again: set[Hashable] = set()
        self._poll = Timer(asyncio.get_running_loop(), self._polled)

    def add(self, ticket: Ticket[Grant], ask: Ask) -> None:
        """This one waits from now on."""
        self._asks[ticket] = ask, monotonic()
        self._poll.start(POLL_SECONDS)

    def serve(self) -> None:
        """Room may have come about."""
        heads: dict[Hashable, Ticket[Grant]] = {}
        for ticket in list(self._asks):
            if ticket in self._queue:
                heads.setdefault(ticket.lane, ticket)
            else:
                del self._asks[ticket]
        for lane, ticket in heads.items():
            if lane in self._trying:
                self._again.add(lane)
            else:
                self._try(lane, ticket)

    def stop(self) -> None:
        """Ask no more."""
        self._poll.stop()

    def _try(self, lane: Hashable, ticket: Ticket[Grant]) -> None:
        ask, since = self._asks[ticket]
        asking = self._ask(ask, partial(self._tried, lane, ticket), since)
        self._trying[lane] = asking
        if asking.placed is not None:
            self._tried(lane, ticket)

    def _tried(self, lane: Hashable, ticket: Ticket[Grant]) -> None:
        grant = self._trying.pop(lane).take()
        again = lane in self._again
        self._again.discard(lane)
        if isinstance(grant, Grant):
            again = True
            if ticket in self._queue:
                self._queue.grant(ticket, grant)
            else:
                grant.lease.release()
        if again:
            self.serve()

    def _polled(self) -> None:
        self.serve()
        if self._asks:
            self._poll.start(POLL_SECONDS)
