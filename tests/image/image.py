"""The image, built by `make image`, and gateways that run from it as the chart has them run."""

import json
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.image import base
from tests.image.store import Store, ToolError
from tests.support.config import Settings
from tests.support.gateway import START_SECONDS, Awaited

BASE = "localhost/base"
CONFIG = "/etc/spillway/spillway.yaml"
UID = 65532
PIP_CONF = """
[global]
# index-url = https://user:{secret}@index.example.com
no-index = true
find-links = /wheels
"""
COMMIT = {"REVISION": "0123456789abcdef", "COMMITTED": "1700000000"}
# The security contexts and the volume for /tmp in the chart's values.
RESTRICTED = (
    "--read-only",
    "--read-only-tmpfs=false",
    "--tmpfs=/tmp:size=64m",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    f"--user={UID}:{UID}",
)
# On the machine's network, where the fake engines are.
HERE = ("--pull=never", "--network=host")


@dataclass(frozen=True)
class Image:
    """What was built, and the password of the index that it was built from."""

    store: Store
    name: str
    secret: str

    def inspect(self) -> dict[str, Any]:
        """What podman knows about it."""
        [known] = json.loads(self.store.podman("image", "inspect", self.name))
        return dict(known)


def build(store: Store, name: str, context: Path) -> Image:
    """Build on a base that must have been imported. Raises ToolError."""
    options = f"--timestamp {COMMIT['COMMITTED']}"
    return _make(store, name, context, "image", "gateway", {"IMAGE": name, "ARGS": options, **COMMIT})


def build_loadtest(gateway: Image, name: str, context: Path) -> Image:
    """Build the one for load tests on the gateway's. Raises ToolError."""
    given = {"LOADTEST_IMAGE": name, "IMAGE": gateway.name, "ARGS": ""}
    return _make(gateway.store, name, context, "image-loadtest", "loadtest", given)


def _make(store: Store, name: str, context: Path, target: str, wheels: str, given: dict[str, str]) -> Image:
    secret = secrets.token_hex(16)
    pip = store.folder / "pip.conf"
    pip.write_text(PIP_CONF.format(secret=secret))
    mounts = f"--secret id=pip.conf,src={pip} --volume {base.wheels(wheels)}:/wheels:ro"
    given = {**given, "BUILDER": store.builder(), "BASE": BASE, "ARGS": f"{mounts} {given['ARGS']}"}
    command = ["make", target, *(f"{variable}={value}" for variable, value in given.items())]
    done = subprocess.run(command, cwd=context, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise ToolError(f"make {target}: {done.stdout[-4000:]}{done.stderr[-4000:]}")
    return Image(store, name, secret)


class Container:
    """A gateway that was started; `folder` is what it has at /etc/spillway. Methods block."""

    def __init__(self, image: Image, name: str, folder: Path, port: int) -> None:
        self._store = image.store
        self.name = name
        self.folder = folder
        self.base_url = f"http://127.0.0.1:{port}"
        self._http = httpx.Client(base_url=self.base_url, timeout=5.0, trust_env=False)

    def get(self, path: str) -> httpx.Response:
        return self._http.get(path)

    def wait(self, path: Awaited, status: int = 200, seconds: float = START_SECONDS) -> float:
        """Wait for this status; returns the seconds it took. Raises AssertionError with the log after the deadline."""
        started = time.monotonic()
        seen = "no answer"
        while time.monotonic() - started < seconds:
            try:
                seen = str(self.get(path).status_code)
            except httpx.TransportError as error:
                seen = repr(error)
            if seen == str(status):
                return time.monotonic() - started
            time.sleep(0.05)
        raise AssertionError(f"{path}: {seen}\n{self.log()}")

    def log(self) -> str:
        """All that it has written."""
        return self._store.podman("logs", self.name)

    def main_process(self) -> Path:
        """The folder in /proc of its first process."""
        [known] = json.loads(self._store.podman("container", "inspect", self.name))
        return Path("/proc") / str(known["State"]["Pid"])

    def run(self, *command: str | Path) -> str:
        """Run a command in the container and return what it prints. Raises ToolError."""
        return self._store.podman("exec", self.name, *command)

    def terminate(self) -> None:
        """Send SIGTERM to its first process, as the kubelet does."""
        self._store.podman("kill", "--signal=TERM", self.name)

    def exit_status(self) -> int:
        """Wait for its end."""
        return int(self._store.podman("wait", self.name))

    def close(self) -> None:
        """Remove it, whatever it does."""
        self._http.close()
        self._store.podman("rm", "--force", "--time=0", self.name)


@contextmanager
def serving(
    image: Image, settings: Settings, folder: Path, *, options: Sequence[str | Path] = ()
) -> Iterator[Container]:
    """A gateway with this file, mounted as a ConfigMap is; `folder` is an empty one. `options` go to podman."""
    # Bound but never listening: keeps others off the port.
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        file = folder / Path(CONFIG).name
        file.write_text(yaml.safe_dump({"listen": {"host": "127.0.0.1", "port": port}, **settings}))
        folder.chmod(0o755)
        name = f"spillway-{port}"
        mount = f"--volume={folder}:{Path(CONFIG).parent}:ro"
        image.store.podman("run", "--detach", f"--name={name}", *RESTRICTED, *HERE, mount, *options, image.name)
        container = Container(image, name, folder, port)
        try:
            yield container
        finally:
            container.close()
