"""Traces with OpenTelemetry: a span a request, and when it is over its parts, of the times that were noted.

What the SDK reads of its environment counts, sampling and exporter included:
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Names of attributes:
https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-inference.md
"""

import time
from collections.abc import Mapping
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_SERVICE_NAME
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gateway import __version__
from gateway.telemetry.families.labels import NONE
from gateway.telemetry.record import Record

_OPERATIONS = {
    "/v1/chat/completions": "chat",
    "/v1/messages": "chat",
    "/v1/responses": "chat",
    "/v1/completions": "text_completion",
    "/generate": "text_completion",
    "/v1/embeddings": "embeddings",
    "/v1/rerank": "rerank",
    "/v1/score": "score",
    "/v1/audio/speech": "speech",
    "/v1/audio/transcriptions": "transcriptions",
    "/v1/audio/translations": "translations",
}
_NANO = 1_000_000_000


class Traces:
    """Makes and exports spans. Export runs in a thread of the SDK's; what can't be sent is dropped."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """`environ` says whether the service has a name of its own."""
        resource = {SERVICE_VERSION: __version__}
        if OTEL_SERVICE_NAME not in environ:
            resource[SERVICE_NAME] = "spillway"
        self._provider = TracerProvider(resource=Resource.create(resource), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("spillway", __version__)
        self._context = TraceContextTextMapPropagator()

    def begin(self, record: Record, headers: Mapping[bytes, bytes]) -> bytes:
        """Start the request's span if it is sampled; returns the `traceparent` for the engine."""
        carrier = {
            name: headers[name.encode()].decode("latin-1")
            for name in ("traceparent", "tracestate")
            if name.encode() in headers
        }
        span = self._tracer.start_span("request", self._context.extract(carrier), SpanKind.SERVER)
        if span.is_recording():
            record.span = span
        context = span.get_span_context()
        return b"00-%032x-%016x-%02x" % (context.trace_id, context.span_id, context.trace_flags & 1)

    def finish(self, record: Record, now: float) -> None:
        """End the request's span; `now` is on the record's clock."""
        span: Span = record.span
        offset = time.time_ns() - int(now * _NANO)

        def wall(seconds: float) -> int:
            return offset + int(seconds * _NANO)

        # Collectors make metrics of spans by their names: none may come from the client.
        operation = _OPERATIONS.get(record.path, "other")
        span.update_name(f"{operation} {record.model}" if record.model != NONE else operation)
        span.set_attributes({"gen_ai.operation.name": operation, **_attributes(record)})
        if record.status >= 500 or record.ended in ("broken", "cut_off"):
            span.set_attribute("error.type", record.error or str(record.status))
            span.set_status(Status(StatusCode.ERROR, record.ended))
        self._parts(record, span, wall)
        span.end(wall(record.done))

    def close(self) -> None:
        """Send what is left; waits for it a few seconds at most."""
        self._provider.force_flush(3000)
        self._provider.shutdown()

    def _parts(self, record: Record, span: Span, wall: Any) -> None:
        """Of the last attempt; those before it lie between the request's begin and `decide`."""
        marks, done = record.marks, record.done
        if marks is None:
            return
        began, first = marks.sent or done, record.first_byte or done
        parts = [("decide", marks.asked, marks.placed), ("connect", marks.placed, began)]
        if marks.sent:
            parts.append(("first byte", began, first))
        if record.first_byte:
            parts.append(("stream", first, done))
        inside = set_span_in_context(span)
        for name, start, end in parts:
            kind = SpanKind.INTERNAL if name == "decide" else SpanKind.CLIENT
            self._tracer.start_span(name, inside, kind, start_time=wall(start)).end(wall(max(start, end)))


def _attributes(record: Record) -> dict[str, str | bool | int | float]:
    host, _, port = record.replica.rpartition(":")
    known: dict[str, str | bool | int | float | None] = {
        "gen_ai.provider.name": record.marks.engine if record.marks else None,
        "gen_ai.request.model": record.model if record.model != NONE else None,
        "gen_ai.request.stream": record.stream,
        "gen_ai.usage.input_tokens": record.prompt_tokens,
        "gen_ai.usage.output_tokens": record.completion_tokens,
        "gen_ai.response.time_to_first_chunk": (
            record.first_byte - record.started if record.stream and record.first_byte else None
        ),
        "server.address": host or record.replica or None,
        "server.port": int(port) if port.isdecimal() and host else None,
        "http.response.status_code": record.status,
        "url.path": record.path,
        "spillway.request.id": record.id,
        "spillway.pool": record.pool if record.pool != NONE else None,
        "spillway.reason": record.reason or None,
        "spillway.concurrency": record.concurrency or None,
        "spillway.retries": record.retries,
        "spillway.ended": record.ended,
    }
    return {name: value for name, value in known.items() if value is not None}
