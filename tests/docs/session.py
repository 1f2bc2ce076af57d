"""Runs the pages' commands as a reader would, in front of engines of the tests.

What differs here is put in its place in the text: the engines' addresses, the gateway's port, the folder to install to.
The same is done backwards to what the commands print, so that pages can show it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.docs.markdown import REPOSITORY, Block

SECONDS = 60.0


class Session:
    """A folder with the pages' files in it, and the environment that commands run in."""

    def __init__(self, folder: Path, places: Mapping[str, str], files: list[Block]) -> None:
        """`places`: what the pages say, and what is meant here."""
        self.folder = folder
        self._places = places
        self._log = folder / "gateway.log"
        # A status that is an error fails the command.
        (folder / ".curlrc").write_text('noproxy = "*"\nfail\n')
        self._env = {
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CURL_HOME": str(folder),
        }
        for file in files:
            (folder / str(file.file_name)).write_text(self._here(file.text))

    def run(self, block: Block, *, folder: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Runs a block of shell or Python and returns what it prints. Raises AssertionError if it fails."""
        program = [sys.executable, "-c"] if block.language == "python" else ["bash", "-euo", "pipefail", "-c"]
        done = subprocess.run(
            [*program, self._here(block.text)],
            cwd=folder or self.folder,
            env={**self._env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{block.id}: {done.returncode}\n{done.stdout}{done.stderr}"
        return self._told(done.stdout)

    @contextmanager
    def serving(self, block: Block, url: str, env: Mapping[str, str]) -> Iterator[None]:
        """Runs a block that ends in a gateway, ready inside the `with`. It must end well on SIGTERM."""
        log = self._log
        text = self._here(block.text).replace("\nspillway serve", "\nexec spillway serve")
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", text],
                cwd=self.folder,
                env={**self._env, **env},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            deadline = time.monotonic() + SECONDS
            while not _is_ready(url):
                assert process.poll() is None, f"{block.id}: {log.read_text()}"
                assert time.monotonic() < deadline, f"{block.id} is not ready: {log.read_text()}"
                time.sleep(0.05)
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0, log.read_text()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def log_line(self, event: str) -> dict[str, Any]:
        """The log's first line of an event. Raises AssertionError if none comes."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            lines = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
            if found := [line for line in lines if line.get("event") == event]:
                return dict(found[0])
            time.sleep(0.05)
        raise AssertionError(self._log.read_text())

    def _here(self, text: str) -> str:
        for told, meant in self._places.items():
            text = text.replace(told, meant)
        return text

    def _told(self, text: str) -> str:
        for told, meant in self._places.items():
            text = text.replace(meant, told)
        return text


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ready", trust_env=False, timeout=5.0).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def free_port() -> Iterator[int]:
    """A port that nobody else gets: bound, and never listened on."""
    with closing(socket.socket()) as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def dry_run(target: str) -> None:
    """Checks that make knows the target. Raises AssertionError with its complaint."""
    done = subprocess.run(["make", "-n", *target.split()], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
