"""Spillway itself, with everything on that a deployment has on: two pools, leases, metrics, the access log."""

import subprocess
from collections.abc import Mapping
from importlib.metadata import version as package_version
from pathlib import Path

import yaml

from bench.paths import OPTIMISED, ROOT, VENV, SetupError
from bench.proxies.base import Command, Proxy, Site

THRESHOLD = 32  # half of the streams: both pools work


def _config(site: Site, redis: str | None) -> dict[str, object]:
    speculative, baseline = site.engine_urls
    model = {
        "name": "m",
        "policy": {"kind": "threshold", "mode": "spill", "threshold": THRESHOLD},
        "pools": {
            "speculative": {"engine": "sglang", "discovery": {"static": [speculative]}},
            "baseline": {"engine": "sglang", "discovery": {"static": [baseline]}},
        },
    }
    return {
        "listen": {"host": "127.0.0.1", "port": site.port},
        "models": [model],
        "log": {"level": "info", "access": True},
        "drain": {"delay_seconds": 0, "timeout_seconds": 2},
        **({"redis": {"urls": [redis]}} if redis else {}),
    }


def _command(site: Site, python: Path, redis: str | None = None, *path: Path) -> Command:
    """One process; its log goes to a file like every child's. `path`: where Python looks first."""
    if not python.exists():
        raise SetupError(f"{python} is missing: run `make install` and `bash bench/setup.sh`")
    configuration = site.write("spillway.yaml", yaml.safe_dump(_config(site, redis)))
    return Command(
        (str(python), "-m", "gateway.cli", "serve", "--config", configuration),
        {"PYTHONPATH": ":".join(map(str, (*path, ROOT, ROOT / "engine-images")))},
    )


def package_versions(python: Path, *packages: str) -> str:
    """The versions of an environment's packages and of its interpreter."""
    code = (
        "import importlib.metadata as m, sys;"
        "print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), 'Python ' + sys.version.split()[0], sep=', ')"
    )
    argv = [str(python), "-c", code, *packages]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def _version(python: Path) -> str:
    """Spillway's own, and those of what it stands on."""
    return f"{package_version('spillway')} ({package_versions(python, 'uvicorn', 'uvloop', 'httptools')})"


_SETUP = (
    f"one process; two pools, threshold {THRESHOLD} in spill mode, leases, health probes, metrics and access log on"
)


def sharing(name: str, redis: str | None) -> Proxy:
    """Spillway on the interpreter of `.venv`, counting by itself or in this Redis."""
    setup = f"{_SETUP}; counts in Redis" if redis else _SETUP
    return Proxy(name, setup, lambda site: _command(site, VENV / "python", redis), lambda: _version(VENV / "python"))


def variant(name: str, root: Path, env: Mapping[str, str] | None = None, *path: Path) -> Proxy:
    """Spillway of the source in this folder on the interpreter of `.venv`, in this environment."""

    def command(site: Site) -> Command:
        plain = _command(site, VENV / "python", None, *path, root)
        return Command(plain.argv, {**plain.env, **(env or {})})

    return Proxy(name, _SETUP, command, lambda: _version(VENV / "python"))


PROXY = Proxy("spillway", _SETUP, lambda site: _command(site, OPTIMISED), lambda: _version(OPTIMISED))
IN_VENV = Proxy(
    "spillway-venv",
    "the same on the interpreter of `.venv`",
    lambda site: _command(site, VENV / "python"),
    lambda: _version(VENV / "python"),
)
