"""A receiver of traces that only counts them, and only afterwards: its CPU is not the gateway's."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Sink:
    """Keeps what comes."""

    def __init__(self) -> None:
        """Listen on a free port of this machine."""
        bodies = self._bodies = list[tuple[str, bytes]]()

        def respond(handler: BaseHTTPRequestHandler) -> None:
            body = handler.rfile.read(int(handler.headers["content-length"]))
            bodies.append((handler.headers.get("content-encoding", ""), body))
            handler.send_response(200)
            handler.send_header("content-type", "application/x-protobuf")
            handler.send_header("content-length", "0")
            handler.end_headers()

        # http.server looks for a method of this name.
        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": respond, "log_message": lambda *_: None})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def spans(self) -> int:
        """How many have come."""
        requests = (
            ExportTraceServiceRequest.FromString(gzip.decompress(body) if encoding == "gzip" else body)
            for encoding, body in self._bodies
        )
        return sum(
            len(scope.spans)
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
        )

    def close(self) -> None:
        """Listen no longer."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def sink() -> Iterator[Sink]:
    """A listening one."""
    made = Sink()
    try:
        yield made
    finally:
        made.close()
