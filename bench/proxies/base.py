"""What the benchmark needs to know of a proxy."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.paths import peer


@dataclass(frozen=True)
class Site:
    """Where one proxy is to run: its port, the engines behind it, a folder for its files."""

    port: int
    engine_ports: tuple[int, int]
    folder: Path

    @property
    def engine_urls(self) -> tuple[str, str]:
        """The engines' base URLs."""
        first, second = self.engine_ports
        return f"http://127.0.0.1:{first}", f"http://127.0.0.1:{second}"

    def write(self, name: str, text: str) -> str:
        """Write a configuration file into the folder; returns its path."""
        path = self.folder / name
        path.write_text(text)
        return str(path)


@dataclass(frozen=True)
class Command:
    """How to start a proxy: it stays in the foreground."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Proxy:
    """One row of the table. `setup` says in a line what it was told to do beyond its defaults."""

    name: str
    setup: str
    command: Callable[[Site], Command]
    version: Callable[[], str]


def peer_version(package: str) -> str:
    """The version of a package in .venv-bench."""
    code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    done = subprocess.run([peer("python"), "-c", code, package], capture_output=True, text=True, check=True)
    return done.stdout.strip()
