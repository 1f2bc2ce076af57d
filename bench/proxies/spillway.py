"""Spillway itself, with everything on that a deployment has on: two pools, leases, metrics, the access log."""

from importlib.metadata import version as package_version

import yaml

from bench.paths import VENV, SetupError
from bench.proxies.base import Command, Proxy, Site

THRESHOLD = 32  # half of the streams: both pools work


def _config(site: Site) -> dict[str, object]:
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
    }


def command(site: Site) -> Command:
    """One process; its log goes to a file like every child's."""
    script = VENV / "spillway"
    if not script.exists():
        raise SetupError(f"{script} is missing: run `make install`")
    return Command((str(script), "serve", "--config", site.write("spillway.yaml", yaml.safe_dump(_config(site)))))


def version() -> str:
    """Spillway's own, and those of what it stands on."""
    parts = [f"{name} {package_version(name)}" for name in ("uvicorn", "uvloop", "httptools")]
    return f"{package_version('spillway')} ({', '.join(parts)})"


PROXY = Proxy(
    "spillway",
    f"one process; two pools, threshold {THRESHOLD} in spill mode, leases, health probes, metrics and access log on",
    command,
    version,
)
