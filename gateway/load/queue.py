"""Requests that wait for room, first come first served among those that can go to the same pools."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

G = TypeVar("G")


class QueueFullError(Exception):
    """The queue has no place left."""


class Ticket(Generic[G]):
    """A place in the queue, until `leave` is called or `wake` is, with `grant` or `refused` set."""

    __slots__ = ("_queue", "grant", "lane", "refused", "try_grant", "wake")

    def __init__(
        self, queue: "WaitQueue[G]", lane: Hashable, try_grant: Callable[[], G | None], wake: Callable[[], None]
    ) -> None:
        """Use `WaitQueue.join`."""
        self._queue = queue
        self.lane = lane
        self.try_grant = try_grant
        self.wake = wake
        self.grant: G | None = None
        self.refused = False

    def leave(self) -> G | None:
        """Stop waiting. Returns a grant already made: the caller owns it, to use or to give back."""
        self._queue.remove(self)
        return self.grant


class WaitQueue(Generic[G]):
    """A bounded queue in lanes: who waits for one pool only does not hold up those who can take either."""

    def __init__(self, size: int) -> None:
        """Hold at most `size` waiting requests."""
        self.size = size
        self._waiting: dict[Ticket[G], None] = {}
        self._serving = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __contains__(self, ticket: object) -> bool:
        """Whether this ticket still waits."""
        return ticket in self._waiting

    def blocks(self, lane: Hashable) -> bool:
        """Whether someone in this lane waits already, so that a newcomer must not overtake."""
        return any(ticket.lane == lane for ticket in self._waiting)

    def join(self, lane: Hashable, try_grant: Callable[[], G | None], wake: Callable[[], None]) -> Ticket[G]:
        """Wait in line.

        Raises:
            QueueFullError: all places are taken.
        """
        if len(self._waiting) >= self.size:
            raise QueueFullError
        ticket = Ticket(self, lane, try_grant, wake)
        self._waiting[ticket] = None
        return ticket

    def remove(self, ticket: Ticket[G]) -> None:
        """Take a ticket out, if it still waits."""
        self._waiting.pop(ticket, None)

    def refuse(self) -> None:
        """Send away all who wait: there will be no room here."""
        while self._waiting:
            ticket = next(iter(self._waiting))
            del self._waiting[ticket]
            ticket.refused = True
            ticket.wake()

    def serve(self) -> None:
        """Grant what can be granted, in order of arrival; a lane stops at its first refusal.

        Call it whenever room may have come about. A grant that is given back while it runs does not start it again.
        """
        if self._serving or not self._waiting:
            return
        self._serving = True
        try:
            blocked: set[Hashable] = set()
            for ticket in list(self._waiting):
                if ticket.lane in blocked or ticket not in self._waiting:
                    continue
                grant = ticket.try_grant()
                if grant is None:
                    blocked.add(ticket.lane)
                    continue
                self.grant(ticket, grant)
        finally:
            self._serving = False

    def grant(self, ticket: Ticket[G], grant: G) -> None:
        """Let one that still waits have this."""
        del self._waiting[ticket]
        ticket.grant = grant
        ticket.wake()
