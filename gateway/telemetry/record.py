"""What is known of one request when it ends, and where that goes: metrics and one log line. Never prompt text."""

from collections.abc import Callable

import msgspec

from gateway.telemetry.log import LineWriter, timestamp
from gateway.telemetry.metrics import Metrics

NONE = "none"
CLIENT_GONE = 499


class Record(msgspec.Struct):
    """Times are monotonic seconds. `ended`: how it ended (finished, refused, failed, broken, cancelled_<phase>)."""

    id: str
    path: str
    started: float
    model: str = NONE
    pool: str = NONE
    replica: str = ""
    reason: str = ""
    status: int = 0
    stream: bool = False
    first_byte: float = 0.0
    overhead: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    events: int = 0
    retries: int = 0
    ended: str = "finished"
    error: str = ""


class Telemetry:
    """Takes each request's record once."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float], access_log: LineWriter | None) -> None:
        """`clock` gives the records' monotonic seconds; without `access_log` no line is written."""
        self.metrics = metrics
        self._clock = clock
        self.access_log = access_log

    def finish(self, record: Record) -> None:
        """Count the request and write its line."""
        now = self._clock()
        where = (record.model, record.pool)
        self.metrics.requests.add((*where, str(record.status)))
        if record.pool != NONE:
            self._observe(record, where, now)
        if self.access_log is not None:
            self.access_log.write(self._line(record, now))

    def refused(self, status: int) -> None:
        """Count what was refused before it was a request: unreadable, oversized or overdue headers."""
        self.metrics.requests.add((NONE, NONE, str(status)))

    def _observe(self, record: Record, where: tuple[str, str], now: float) -> None:
        metrics, first = self.metrics, record.first_byte
        metrics.duration.observe(where, now - record.started)
        metrics.overhead.observe(where, record.overhead)
        if first:
            metrics.ttft.observe(where, first - record.started)
        if record.prompt_tokens:
            metrics.tokens.add((*where, "prompt"), record.prompt_tokens)
        tokens, kind = record.completion_tokens, "completion"
        if tokens is None:
            tokens, kind = record.events, "completion_estimated"
        if tokens:
            metrics.tokens.add((*where, kind), tokens)
            if record.stream and tokens > 1:
                metrics.inter_token.observe(where, (now - first) / (tokens - 1))

    def _line(self, record: Record, now: float) -> bytes:
        first, started = record.first_byte, record.started
        return _encode(
            _Line(
                timestamp(),
                "request",
                record.id,
                record.path,
                record.model,
                record.pool,
                record.replica,
                record.reason,
                record.status,
                record.stream,
                round(first - started, 6) if first else None,
                round(now - started, 6),
                record.prompt_tokens,
                record.completion_tokens,
                record.events,
                record.retries,
                record.ended,
                record.error,
            )
        )


class _Line(msgspec.Struct, gc=False):
    """The log's line: a struct, as building a dictionary of it costs more than encoding it."""

    time: str
    event: str
    id: str
    path: str
    model: str
    pool: str
    replica: str
    reason: str
    status: int
    stream: bool
    ttft: float | None
    duration: float
    prompt_tokens: int | None
    completion_tokens: int | None
    events: int
    retries: int
    ended: str
    error: str


_encode = msgspec.json.Encoder().encode
