"""The stand-in on a socket, in threads of the test's own process."""

import contextlib
import json
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import trustme
import yaml

from tests.kube.apiserver.access import ADMIN, Access
from tests.kube.apiserver.errors import StatusError
from tests.kube.apiserver.faults import Faults, Lot
from tests.kube.apiserver.request import Answer, Api
from tests.kube.apiserver.resources import NAMESPACES, SLICES
from tests.kube.apiserver.store import Store
from tests.kube.apiserver.watching import Watch

Object = dict[str, Any]
_CERTIFICATES = trustme.CA()


class ApiServer:
    """An API server on a port of 127.0.0.1 that stays its own over restarts. All that tests may turn is public."""

    def __init__(self, *, tls: bool = False, bookmark_seconds: float = 60.0) -> None:
        self.store, self.access, self.faults = Store(), Access(), Faults()
        self.bookmark_seconds = bookmark_seconds
        self.requests: list[str] = []
        for name in ("default", "llm"):
            self.store.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._tls = tls
        self._http: _Http | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def ca(self) -> str:
        """The certificate to trust, as PEM."""
        return _CERTIFICATES.cert_pem.bytes().decode()

    def start(self) -> None:
        """Listen."""
        self._http = _Http(self, self.port, self._context() if self._tls else None)
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), name="api-server", daemon=True).start()

    def stop(self) -> None:
        """Refuse connections, and break those there are."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http.cut()
            self._http = None

    def restart(self, *, compact: bool = False, away: float = 0.0) -> None:
        """Stop, and come back after so many seconds; with `compact`, old versions are forgotten."""
        self.stop()
        if compact:
            self.store.compact()
        time.sleep(away)
        self.start()

    def cut(self) -> None:
        """Break all connections."""
        if self._http is not None:
            self._http.cut()

    @property
    def watches(self) -> int:
        """How many are open."""
        return self._http.watches if self._http is not None else 0

    def kubeconfig(self, path: Path, token: str = ADMIN, namespace: str = "default") -> Path:
        """Write one for this server."""
        cluster: Object = {"server": self.url}
        if self._tls:
            ca = path.with_suffix(".ca")
            ca.write_text(self.ca)
            cluster["certificate-authority"] = str(ca)
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": namespace}}],
            "current-context": "here",
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def put(self, *slices: Object) -> None:
        """Create EndpointSlices, or replace those of the same names."""
        for item in slices:
            key = item["metadata"]["namespace"], item["metadata"]["name"]
            known = any(key[1] == it["metadata"]["name"] for it in self.store.items(SLICES, key[0]))
            if known:
                self.store.replace(SLICES, key, item)
            else:
                self.store.create(SLICES, item)

    def remove(self, namespace: str, *names: str) -> None:
        """Delete EndpointSlices."""
        for name in names:
            self.store.delete(SLICES, (namespace, name))

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _CERTIFICATES.issue_cert("127.0.0.1").configure_cert(context)
        return context


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, owner: ApiServer, port: int, context: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.owner = owner
        self.api = Api(owner.store, owner.access, owner.faults)
        self.watches = 0
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        if context is not None:
            # The handshake comes with the first read, in the connection's own thread.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections break; that is what this server is for."""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        with self._lock:
            self.watches += 1
        try:
            yield
        finally:
            with self._lock:
                self.watches -= 1

    def cut(self) -> None:
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def _handle(self) -> None:
        where = urlsplit(self.path)
        query = dict(parse_qsl(where.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.owner.requests.append(f"{self.command} {self.path}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        time.sleep(self.server.owner.faults.delay)
        try:
            answer = self.server.api.answer(self.command, where.path, query, headers, body)
        except StatusError as error:
            self._send(error.code, error.status(), error.retry_after)
            return
        if isinstance(answer, Answer):
            self._send(answer.status, answer.item)
        else:
            lot = self.server.owner.faults.lot()
            with self.server.watching():
                self._stream(answer, lot)

    def _send(self, status: int, item: Object, retry_after: int | None = None) -> None:
        body = json.dumps(item).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, watch: Watch, lot: Lot) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        owner = self.server.owner
        for event in watch.events(owner.store, lot, owner.bookmark_seconds):
            if event is not None:
                line = (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            elif select.select([self.connection], [], [], 0)[0]:
                # A client that watches sends nothing: it has gone.
                self.close_connection = True
                return
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        """Tests look at `requests`."""


for _method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler._handle)
