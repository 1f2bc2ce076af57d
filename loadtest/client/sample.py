"""One request as its client saw it."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a request ended. Everything but `ok` and `cancelled` is a failure of its kind."""

    OK = "ok"
    CANCELLED = "cancelled"  # by this client, on purpose
    REJECTED = "rejected"  # 429
    STATUS = "status"  # any other status than 200
    ERROR_EVENT = "error event"  # the stream said that it failed
    BROKEN = "broken"  # the response ended before its end, or was no HTTP
    EMPTY = "empty"  # a whole response without a token in it
    CONNECT = "connect"  # no connection could be made
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Sample:
    """Times are seconds on the clock of `time.perf_counter`; None where the request did not get that far.

    `scheduled` is when the request was due: latencies count from there, so that a generator that is late does not
    flatter the server. `tokens` and `prompt_tokens` are the server's own count if `counted`, else the events with
    content. `gaps` are the times between successive events with content; an event may carry several tokens.
    """

    outcome: Outcome
    scheduled: float
    end: float
    sent: float | None = None
    first: float | None = None
    last: float | None = None
    status: int = 0
    detail: str = ""
    pool: str = ""
    replica: str = ""
    reason: str = ""
    tokens: int = 0
    prompt_tokens: int = 0
    counted: bool = False
    events: int = 0
    gaps: tuple[float, ...] = ()
    text: str = ""

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.outcome is Outcome.OK

    @property
    def failed(self) -> bool:
        """Whether it is a failure. A request that this client cancelled is none."""
        return self.outcome not in (Outcome.OK, Outcome.CANCELLED)

    @property
    def duration(self) -> float:
        """From when it was due to its last byte."""
        return self.end - self.scheduled

    @property
    def ttft(self) -> float | None:
        """TTFT: from when it was due to the first event with content."""
        return None if self.first is None else self.first - self.scheduled

    @property
    def speed(self) -> float:
        """Tokens a second over its whole duration, the wait for the first included."""
        return self.tokens / self.duration if self.duration > 0 else 0.0

    @property
    def tpot(self) -> float | None:
        """TPOT: seconds a token after the first. None with fewer than two."""
        if self.first is None or self.last is None or self.tokens < 2:
            return None
        return (self.last - self.first) / (self.tokens - 1)
