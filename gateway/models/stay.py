"""A request's time on its replica, as learning sees it."""

from typing import Protocol

from gateway.learning import Observation
from gateway.pools import Replica
from gateway.routing import Role


class Busy:
    """Requests held, added up over time: its difference over a while, divided by that, is their mean number."""

    __slots__ = ("area", "at")

    def __init__(self, now: float) -> None:
        """Add up from now on."""
        self.area = 0.0
        self.at = now

    def until(self, now: float, held: int) -> float:
        """So many were held since the last call."""
        self.area += held * (now - self.at)
        self.at = now
        return self.area


class Watcher(Protocol):
    """Who keeps the books of all stays, and learns."""

    def beside(self, role: Role, now: float) -> float:
        """The other pool's requests per replica of this one, added up over time; 0 where hardware is not shared."""
        ...

    def began(self, stay: "Stay") -> None:
        """Its prompt no longer waits."""
        ...

    def ended(self, stay: "Stay", now: float) -> None:
        """It no longer counts."""
        ...

    def learn(self, stay: "Stay", seen: Observation) -> None:
        """What it came to, save for what `stay` does not know."""
        ...


class Stay:
    """Made just before the lease begins; `tell` comes once, when the request's record is complete.

    `size`: bytes of its body. `ahead`: bytes on a replica without a first token when it came, its own included.
    """

    __slots__ = (
        "_area",
        "_beside",
        "_ended",
        "_sent",
        "_since",
        "_waits",
        "_watcher",
        "ahead",
        "busy",
        "replica",
        "role",
        "size",
    )

    def __init__(
        self, watcher: Watcher, role: Role, replica: Replica, busy: Busy, size: int, ahead: float, now: float
    ) -> None:
        """Use `Adapting.expected`."""
        self._watcher = watcher
        self._sent = self._since = self._ended = now
        self._area = busy.until(now, held(replica))
        self._beside = watcher.beside(role, now)
        self._waits = True
        self.role = role
        self.replica = replica
        self.busy = busy
        self.size = size
        self.ahead = ahead

    def began(self, now: float) -> None:
        """The first byte of the answer is there."""
        self._read()
        self._since, self._area = now, self.busy.until(now, held(self.replica))
        self._beside = self._watcher.beside(self.role, now)

    def ended(self, now: float) -> None:
        """The lease has ended, and the counts have fallen."""
        self._read()
        self._watcher.ended(self, now)
        area, beside = self.busy.until(now, held(self.replica) + 1), self._watcher.beside(self.role, now)
        seconds = now - self._since
        self._ended = now
        self._area, self._beside = (
            ((area - self._area) / seconds, (beside - self._beside) / seconds) if seconds else (1.0, 0.0)
        )

    def tell(self, *, tokens: int | None, prompt_tokens: int | None, events: int, stream: bool, finished: bool) -> None:
        """What the request came to. Counts that the engine did not say are None."""
        self._watcher.learn(
            self,
            Observation(
                self._ended,
                -1 if tokens is None else tokens,
                self._ended - (self._since if stream else self._sent),
                self._area,
                events,
                -1 if prompt_tokens is None else prompt_tokens,
                self._since - self._sent if stream else None,
                self.ahead,
                self._beside,
                finished,
            ),
        )

    def _read(self) -> None:
        if self._waits:
            self._waits = False
            self._watcher.began(self)


def held(replica: Replica) -> int:
    """What the engine has to serve at once, as far as is known."""
    return replica.inflight + replica.elsewhere + replica.outside
