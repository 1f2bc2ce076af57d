"""A real SGLang HTTP server on the CPU, with a tiny model of random weights."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Self

import httpx

from tests.sglang.cases import FOLDER, MODELS
from tests.sglang.environment import PYTHON

MODEL = "tiny-llama"
LOAD_SECONDS = 240.0


class Server:
    """As a context manager it is loading inside the block; `wait_ready` waits until it serves."""

    def __init__(self, log: Path) -> None:
        self._log = log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        # What was answered before it was ready: refused, or a status.
        self.seen: list[int | str] = []

    def __enter__(self) -> Self:
        command = [str(PYTHON), "-W", "ignore", "-m", "sglang.launch_server", f"--model-path={MODELS / MODEL}"]
        command += [f"--served-model-name={MODEL}", "--device=cpu", "--attention-backend=torch_native"]
        command += ["--load-format=dummy", "--disable-cuda-graph", "--max-total-tokens=4096", "--enable-metrics"]
        command += ["--mem-fraction-static=0.3", "--host=127.0.0.1", f"--port={self.port}", "--max-running-requests=8"]
        env = {**os.environ, "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "0", "HF_HUB_OFFLINE": "1"}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=env, cwd=FOLDER.parents[1], start_new_session=True
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait_ready(self) -> None:
        """Polls `/health` until it is 200. Raises AssertionError, with the end of its log, if that takes too long."""
        deadline = time.monotonic() + LOAD_SECONDS
        while (status := self.health()) != httpx.codes.OK:
            if status not in self.seen:
                self.seen.append(status)
            assert self.process.poll() is None, self.tail()
            assert time.monotonic() < deadline, self.tail()
            time.sleep(0.02)

    def health(self) -> int | str:
        """The status of `/health`, or `refused`."""
        try:
            return httpx.get(f"{self.url}/health", timeout=10, trust_env=False).status_code
        except httpx.TransportError:
            return "refused"

    def running(self) -> int:
        """Requests that it works on or keeps waiting, by its own load endpoint."""
        answer = httpx.get(f"{self.url}/v1/loads", params={"include": "core"}, timeout=10, trust_env=False)
        loads: list[dict[str, Any]] = answer.raise_for_status().json()["loads"]
        return sum(it["num_running_reqs"] + it["num_waiting_reqs"] for it in loads)

    def metrics(self) -> str:
        """Its page for Prometheus."""
        return httpx.get(f"{self.url}/metrics", timeout=10, trust_env=False).raise_for_status().text

    def tail(self) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-40:])
