"""What is known of one request when it ends, and where that goes: metrics and one log line. Never prompt text."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from gateway.models import Stay
from gateway.telemetry.families.labels import NONE
from gateway.telemetry.families.requests import Ended, TokenKind
from gateway.telemetry.log import LineWriter, timestamp
from gateway.telemetry.metrics import Metrics

CLIENT_GONE = 499
_RECENT = 100
_RECORDS_AT_ONCE, _SETTLE_SECONDS = 32, 0.1


class Marks(msgspec.Struct):
    """Moments of a traced request's last attempt, and the kind of its engine."""

    asked: float
    placed: float
    engine: str
    sent: float = 0.0


class Record(msgspec.Struct):
    """Times are monotonic seconds.

    `concurrency`: the replica's requests when this one was placed there, itself included.
    `span`: OpenTelemetry's, if the request is traced.
    `stay`: whom to tell what it came to, where the policy learns.
    """

    id: str
    path: str
    started: float
    model: str = NONE
    pool: str = NONE
    replica: str = ""
    reason: str = ""
    concurrency: int = 0
    status: int = 0
    stream: bool = False
    first_byte: float = 0.0
    overhead: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    events: int = 0
    retries: int = 0
    ended: Ended = "finished"
    error: str = ""
    done: float = 0.0
    span: Any = None
    marks: Marks | None = None
    stay: Stay | None = None


class Tracing(Protocol):
    """Makes a span of each request."""

    def begin(self, record: Record, headers: Mapping[bytes, bytes]) -> bytes:
        """A request has come; returns the `traceparent` for the engine."""
        ...

    def finish(self, record: Record, now: float) -> None:
        """A request with a span is over; `now` is on the record's clock."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


class Telemetry:
    """Takes each request's record once.

    Records are counted and logged some at a time: one after the other they find the caches warm, which takes a
    twentieth off what a request costs. Whoever reads the metrics finds all of them counted.
    """

    def __init__(
        self,
        metrics: Metrics,
        clock: Callable[[], float],
        access_log: LineWriter | None,
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """`clock` gives the records' monotonic seconds; without `access_log` no line is written.

        `call_later` is the event loop's. `recent` has the latest requests, those that still run included.
        """
        self.metrics = metrics
        self.tracing: Tracing | None = None
        self._clock = clock
        self.access_log = access_log
        self._call_later = call_later
        self._finished: list[Record] = []
        self.recent: deque[Record] = deque(maxlen=_RECENT)
        self._scheduled = False
        metrics.before_collect = self.settle

    def placed(self, record: Record) -> None:
        """Count where the request has been sent and why; once for each attempt."""
        self.metrics.decisions.add((record.model, record.pool, record.reason))
        if not record.retries:
            self.recent.append(record)

    def finish(self, record: Record) -> None:
        """Have the request counted and its line written, within a tenth of a second."""
        record.done = self._clock()
        self._finished.append(record)
        if len(self._finished) >= _RECORDS_AT_ONCE:
            self.settle()
        elif not self._scheduled:
            self._scheduled = True
            self._call_later(_SETTLE_SECONDS, self._settle_in_time)

    def settle(self) -> None:
        """Count and log what has finished so far."""
        finished, self._finished = self._finished, []
        now = self._clock()
        for record in finished:
            self._settle(record, now)

    def _settle_in_time(self) -> None:
        self._scheduled = False
        self.settle()

    def _settle(self, record: Record, now: float) -> None:
        where = (record.model, record.pool)
        self.metrics.requests.add((*where, str(record.status), record.ended))
        if record.pool != NONE:
            self._observe(record, where)
            if record.stay is not None and record.status == 200:
                record.stay.tell(
                    tokens=record.completion_tokens,
                    prompt_tokens=record.prompt_tokens,
                    events=record.events,
                    stream=record.stream,
                    finished=record.ended == "finished",
                )
        elif record.model != NONE:
            self.recent.append(record)
        if record.span is not None and self.tracing is not None:
            self.tracing.finish(record, now)
        if self.access_log is not None:
            self.access_log.write(_line(record, now - record.done))

    def refused(self, status: int) -> None:
        """Count what was refused before it was a request: unreadable, oversized or overdue headers."""
        self.metrics.requests.add((NONE, NONE, str(status), "refused"))

    def _observe(self, record: Record, where: tuple[str, str]) -> None:
        metrics, first = self.metrics, record.first_byte
        metrics.duration.observe(where, record.done - record.started)
        metrics.overhead.observe(where, record.overhead)
        if first:
            metrics.ttft.observe(where, first - record.started)
        if record.span is not None:
            self._exemplify(record, where)
        if record.prompt_tokens:
            metrics.tokens.add((*where, "prompt"), record.prompt_tokens)
        tokens = record.completion_tokens
        kind: TokenKind = "completion"
        if tokens is None:
            tokens, kind = record.events, "completion_estimated"
        if tokens:
            metrics.tokens.add((*where, kind), tokens)
            if record.stream and tokens > 1:
                seconds = record.done - first
                metrics.inter_token.observe(where, seconds / (tokens - 1))
                if kind == "completion":
                    metrics.streams.add(*where, record.concurrency, tokens - 1, seconds, record.events - 1)

    def _exemplify(self, record: Record, where: tuple[str, str]) -> None:
        """Leave the trace's id at the request's buckets."""
        trace = {"trace_id": f"{record.span.get_span_context().trace_id:032x}"}
        self.metrics.duration.exemplify(where, record.done - record.started, trace)
        if record.first_byte:
            self.metrics.ttft.exemplify(where, record.first_byte - record.started, trace)


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


def _line(record: Record, ago: float) -> bytes:
    first, started = record.first_byte, record.started
    return _encode(
        _Line(
            timestamp(ago),
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
            round(record.done - started, 6),
            record.prompt_tokens,
            record.completion_tokens,
            record.events,
            record.retries,
            record.ended,
            record.error,
        )
    )
