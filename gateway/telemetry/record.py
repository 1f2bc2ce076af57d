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
        of, metrics = self.metrics.of, self.metrics
        where = (record.model, record.pool)
        of(metrics.requests, *where, str(record.status)).inc()
        if record.pool != NONE:
            self._observe(record, now)
        if self.access_log is not None:
            self.access_log.write(self._line(record, now))

    def refused(self, status: int) -> None:
        """Count what was refused before it was a request: unreadable, oversized or overdue headers."""
        self.metrics.of(self.metrics.requests, NONE, NONE, str(status)).inc()

    def _observe(self, record: Record, now: float) -> None:
        of, metrics = self.metrics.of, self.metrics
        where = (record.model, record.pool)
        of(metrics.duration, *where).observe(now - record.started)
        of(metrics.overhead, *where).observe(record.overhead)
        if record.first_byte:
            of(metrics.ttft, *where).observe(record.first_byte - record.started)
        tokens, kind = record.completion_tokens, "completion"
        if tokens is None and record.events:
            tokens, kind = record.events, "completion_estimated"
        if record.prompt_tokens:
            of(metrics.tokens, *where, "prompt").inc(record.prompt_tokens)
        if tokens:
            of(metrics.tokens, *where, kind).inc(tokens)
            if record.stream and tokens > 1:
                of(metrics.inter_token, *where).observe((now - record.first_byte) / (tokens - 1))

    def _line(self, record: Record, now: float) -> bytes:
        first = record.first_byte
        return msgspec.json.encode(
            {
                "time": timestamp(),
                "event": "request",
                "id": record.id,
                "path": record.path,
                "model": record.model,
                "pool": record.pool,
                "replica": record.replica,
                "reason": record.reason,
                "status": record.status,
                "stream": record.stream,
                "ttft": round(first - record.started, 6) if first else None,
                "duration": round(now - record.started, 6),
                "prompt_tokens": record.prompt_tokens,
                "completion_tokens": record.completion_tokens,
                "events": record.events,
                "retries": record.retries,
                "ended": record.ended,
                "error": record.error,
            }
        )
