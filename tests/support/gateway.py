"""A real gateway process on a free port."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import httpx

from tests.support import config as files
from tests.support.metrics import Metrics

START_SECONDS = 20.0
Awaited = Literal["/ready", "/health"]


class GatewayFailedError(Exception):
    """The gateway did not start, or went away; carries what it wrote."""


class Gateway:
    """`spillway serve` in a process of its own. Methods block for a local round trip unless they are coroutines."""

    def __init__(
        self,
        settings: files.Settings,
        folder: Path,
        *,
        env: dict[str, str] | None = None,
        write: files.Write = files.write,
    ) -> None:
        # Bound but never listening: keeps others off the port until the process has bound it too.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port: int = self._reserved.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._write = write
        self.config_path = folder / "spillway.yaml"
        self.log: list[dict[str, Any]] = []
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self._http = httpx.Client(base_url=self.base_url, timeout=5.0, trust_env=False)
        self.write_config(settings)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gateway.cli", "serve", "--config", str(self.config_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self._readers = [
            self._read(self.process.stdout, self._take_log_line),
            self._read(self.process.stderr, self.stderr.append),
        ]

    def _read(self, pipe: IO[str] | None, take: Callable[[str], None]) -> threading.Thread:
        assert pipe is not None

        def run() -> None:
            for line in pipe:
                take(line)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _take_log_line(self, line: str) -> None:
        self.stdout.append(line)
        if line.startswith("{"):
            self.log.append(json.loads(line))

    def write_config(self, settings: files.Settings | str) -> None:
        """Replaces the configuration file; `listen` is added to settings, text goes in as it is."""
        if not isinstance(settings, str):
            settings = {"listen": {"host": "127.0.0.1", "port": self.port}, **settings}
        self._write(self.config_path, settings)

    def wait_up(self, path: Awaited = "/ready", seconds: float = START_SECONDS) -> None:
        """Waits for 200 from the path. Raises GatewayFailedError with the process's output after the deadline."""
        deadline = time.monotonic() + seconds
        seen = "no answer"
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                response = self._http.get(path)
            except httpx.TransportError as exc:
                seen = repr(exc)
            else:
                if response.status_code == 200:
                    return
                seen = f"{response.status_code} {response.text}"
            time.sleep(0.05)
        raise GatewayFailedError(f"{path}: {seen}; exit status {self.process.poll()}\n{self.output()}")

    def output(self) -> str:
        return "".join(self.stdout[-50:]) + "".join(self.stderr[-100:])

    def get(self, path: str) -> httpx.Response:
        return self._http.get(path)

    def status(self) -> dict[str, Any]:
        """The body of /status."""
        return dict(self._http.get("/status").raise_for_status().json())

    def pool_status(self, role: str, model: int = 0) -> dict[str, Any]:
        return dict(self.status()["models"][model]["pools"][role])

    def metrics(self) -> Metrics:
        """What /metrics says now."""
        return Metrics(self._http.get("/metrics").raise_for_status().text)

    def in_flight(self) -> dict[str, int]:
        """Every non-zero in-flight or queue count that /status and /metrics show, by where it was seen."""
        counts: dict[str, int] = {}
        for model in self.status()["models"]:
            for role, pool in model["pools"].items():
                counts[f"status {model['name']} {role}"] = pool["inflight"]
                for replica in pool["replicas"]:
                    counts[f"status {model['name']} {role} {replica['url']}"] = replica["inflight"]
        for name in ("spillway_inflight", "spillway_queue_depth"):
            for labels, value in self.metrics().series(name):
                counts[f"{name} {labels}"] = int(value)
        return {where: count for where, count in counts.items() if count}

    async def assert_idle(self, seconds: float = 3.0) -> None:
        """Waits for every count to reach zero. Raises AssertionError naming those that do not."""
        await self.eventually(lambda: not self.in_flight(), seconds, self.in_flight)

    async def eventually(
        self, holds: Callable[[], object], seconds: float = 3.0, describe: Callable[[], object] | None = None
    ) -> None:
        """Polls a condition in a thread. Raises AssertionError with the description, or /status, after the deadline."""
        deadline = time.monotonic() + seconds
        while not await asyncio.to_thread(holds):
            if time.monotonic() > deadline:
                raise AssertionError(await asyncio.to_thread(describe or self.status))
            await asyncio.sleep(0.02)

    async def counted(self, name: str, wanted: float, **labels: str) -> None:
        """Waits for a metric's total: requests are counted just after their clients have been answered."""
        await self.eventually(
            lambda: self.metrics().total(name, **labels) == wanted,
            describe=lambda: f"{name} {labels} is not {wanted}: {self.metrics().series(name)}",
        )

    async def log_line(self, request_id: str, seconds: float = 3.0) -> dict[str, Any]:
        """The access log's line of a request. Raises AssertionError when none comes."""
        found: list[dict[str, Any]] = []

        def look() -> bool:
            found.extend(line for line in list(self.log) if request_id in line.values())
            return bool(found)

        await self.eventually(look, seconds, lambda: f"no log line of {request_id}: {self.stdout[-5:]}")
        return found[0]

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    async def wait_exit(self, seconds: float = 10.0) -> int:
        """The exit status. Raises subprocess.TimeoutExpired."""
        return await asyncio.to_thread(self.process.wait, seconds)

    def close(self) -> None:
        """Ends the process, by force if it does not go within 10 s, and frees what the harness holds."""
        if self.process.poll() is None:
            self.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for reader in self._readers:
            reader.join(5)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self._http.close()
        self._reserved.close()


@contextmanager
def gateway(
    settings: files.Settings,
    wait_for: Awaited | None = "/ready",
    *,
    env: dict[str, str] | None = None,
    write: files.Write = files.write,
) -> Iterator[Gateway]:
    """A started gateway; its engines must run elsewhere than in the calling loop, such as in an EngineThread."""
    with tempfile.TemporaryDirectory(prefix="spillway-test-") as folder:
        running = Gateway(settings, Path(folder), env=env, write=write)
        try:
            if wait_for:
                running.wait_up(wait_for)
            yield running
        finally:
            running.close()
