"""A real OTLP receiver: HTTP with protobuf, as a collector has it."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Value = str | bool | int | float


class Receiver:
    """What has come so far."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.resource: dict[str, Value] = {}
        received = self

        def respond(handler: BaseHTTPRequestHandler) -> None:
            body = handler.rfile.read(int(handler.headers["content-length"]))
            if handler.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            received.take(ExportTraceServiceRequest.FromString(body))
            handler.send_response(200)
            handler.send_header("content-type", "application/x-protobuf")
            handler.end_headers()
            handler.wfile.write(ExportTraceServiceResponse().SerializeToString())

        # http.server looks for a method of this name.
        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": respond, "log_message": lambda *_: None})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        """Keep what a request brought."""
        for resource in request.resource_spans:
            self.resource = {it.key: plain(it.value) for it in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)

    def roots(self) -> list[Span]:
        """The spans of whole requests."""
        return [span for span in self.spans if span.kind == Span.SPAN_KIND_SERVER]

    def parts(self, root: Span) -> dict[str, Span]:
        """The children of a span by name."""
        return {span.name: span for span in self.spans if span.parent_span_id == root.span_id}

    def close(self) -> None:
        """Stops it."""
        self._server.shutdown()
        self._server.server_close()


def plain(value: AnyValue) -> Value:
    """An attribute's value."""
    found: Value = getattr(value, value.WhichOneof("value") or "string_value")
    return found


def attributes(span: Span) -> dict[str, Value]:
    """A span's attributes."""
    return {it.key: plain(it.value) for it in span.attributes}


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A started one."""
    made = Receiver()
    try:
        yield made
    finally:
        made.close()
