"""Configuration files for gateways under test: short timeouts, quick probes."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

Settings = dict[str, Any]
Write = Callable[[Path, Settings | str], None]

QUICK_HEALTH: Settings = {
    "path": "/health",
    "interval": 0.2,
    "timeout": 1.0,
    "eject_seconds": 0.2,
    "eject_max_seconds": 0.5,
}
QUICK_LIMITS: Settings = {
    "body_bytes": 1024 * 1024,
    "header_bytes": 32 * 1024,
    "header_seconds": 1.0,
    "body_seconds": 1.5,
    "connect_seconds": 0.5,
    "first_byte_seconds": 3.0,
    "idle_seconds": 1.5,
    "client_stall_seconds": 2.0,
}


def pool(urls: Sequence[str], health: Settings | None = None, **settings: Any) -> Settings:
    """A pool of these replicas."""
    return {"discovery": {"static": list(urls)}, "health": {**QUICK_HEALTH, **(health or {})}, **settings}


def model(
    speculative: Sequence[str] | Settings = (),
    baseline: Sequence[str] | Settings = (),
    name: str = "fake",
    policy: Settings | None = None,
    **settings: Any,
) -> Settings:
    """A model with the pools that have replicas, each given as its URLs or as a whole `pool`."""
    pools = {
        role: given if isinstance(given, dict) else pool(given)
        for role, given in (("speculative", speculative), ("baseline", baseline))
        if given
    }
    return {"name": name, "pools": pools, "policy": {"kind": "threshold", **(policy or {})}, **settings}


def config(*models: Settings, limits: Settings | None = None, **sections: Any) -> Settings:
    """A whole file, without `listen`: the harness gives it a port. Drains at once unless told otherwise."""
    return {
        "models": list(models),
        "limits": {**QUICK_LIMITS, **(limits or {})},
        "retries": {"attempts": 3, "ratio": 1.0, "burst": 10_000},
        "drain": {"delay_seconds": 0, "timeout_seconds": 5},
        **sections,
    }


def write(path: Path, settings: Settings | str) -> None:
    """Puts the file in place in one step, as an editor does; text goes in as it is."""
    fresh = path.with_suffix(".fresh")
    fresh.write_text(_text(settings))
    fresh.replace(path)


def write_mounted(path: Path, settings: Settings | str) -> None:
    """Puts the file in place as Kubernetes mounts a ConfigMap: path -> ..data/path, ..data -> a directory a version."""
    version = Path(tempfile.mkdtemp(prefix="..", dir=path.parent))
    (version / path.name).write_text(_text(settings))
    fresh, data = path.parent / "..data_tmp", path.parent / "..data"
    fresh.symlink_to(version.name)
    old = data.resolve()
    fresh.replace(data)
    if old != data:
        shutil.rmtree(old)
    if not path.is_symlink():
        path.symlink_to(f"..data/{path.name}")


def _text(settings: Settings | str) -> str:
    return settings if isinstance(settings, str) else yaml.safe_dump(settings, sort_keys=False)
