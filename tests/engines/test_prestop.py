"""The wait before an engine is stopped, in front of a server that counts as SGLang does."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from spillway_engine.prestop import wait_until_quiet
from spillway_engine.probe import unready


class Counting(http.server.ThreadingHTTPServer):
    """Serves /metrics with the counts that it holds, and /health."""

    work = 0.0
    probes = 0.0
    status = 200

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Counting

    def do_GET(self) -> None:
        it = self.server
        it.probes += 1
        text = (
            f'sglang:http_requests_total{{endpoint="/v1/chat/completions",method="POST"}} {it.work}\n'
            f'sglang:http_requests_total{{endpoint="/generate",method="POST"}} {2 * it.work}\n'
            f'sglang:http_requests_total{{endpoint="/v1/loads",method="GET"}} {it.probes}\n'
            f'sglang:http_requests_total{{endpoint="/health",method="GET"}} {it.probes}\n'
        ).encode()
        self.send_response(it.status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def engine() -> Iterator[Counting]:
    """A server on a free port."""
    with Counting(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Clock:
    """Time that passes only while one sleeps; `at` says when requests arrive."""

    def __init__(self, engine: Counting | None = None, at: tuple[float, ...] = ()) -> None:
        self.now = 0.0
        self._engine = engine
        self._at = at

    def __call__(self) -> float:
        """The time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Lets it pass."""
        before, self.now = self.now, self.now + seconds
        if self._engine is not None:
            self._engine.work += sum(before < at <= self.now for at in self._at)


@pytest.mark.parametrize(
    ("at", "waited"),
    [((), 15.0), ((3.0,), 15.0), ((12.0,), 17.0), ((12.0, 16.0, 20.0), 25.0), (tuple(map(float, range(90))), 60.0)],
)
def test_it_waits_until_no_requests_arrive(engine: Counting, at: tuple[float, ...], waited: float) -> None:
    clock = Clock(engine, at)
    took = wait_until_quiet(engine.url, least=15.0, quiet=5.0, most=60.0, clock=clock, sleep=clock.sleep)
    assert took == waited


def test_an_engine_that_does_not_count_is_waited_for_as_long_as_said(engine: Counting) -> None:
    engine.status = 404
    for url in (engine.url, "http://127.0.0.1:1"):
        clock = Clock()
        assert wait_until_quiet(url, least=15.0, quiet=5.0, most=60.0, clock=clock, sleep=clock.sleep) == 15.0


def test_it_is_ready_at_200_alone(engine: Counting) -> None:
    assert unready(engine.url, 2.0) is None
    engine.status = 503
    assert unready(engine.url, 2.0) == f"503 from {engine.url}/health: the engine loads, or is about to end"
    assert "no engine answers" in (unready("http://127.0.0.1:1", 2.0) or "")
