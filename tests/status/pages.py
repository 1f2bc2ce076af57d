"""Answers of /status, and the command that reads them."""

import os
import subprocess
import sys
from typing import Any

Fields = dict[str, Any]


def replica(number: int = 1, **fields: Any) -> Fields:
    return {"url": f"http://10.0.0.{number}:30000", "inflight": 0, "state": "ready", "error": None, **fields}


def pool(*replicas: Fields, **fields: Any) -> Fields:
    ready = sum(each["state"] == "ready" for each in replicas)
    return {"inflight": 0, "limit": 20, "ready": ready, "replicas": list(replicas), **fields}


def model(speculative: Fields, **fields: Any) -> Fields:
    policy = {"kind": "threshold", "mode": "spill", "threshold": 5}
    return {"name": "k2", "policy": policy, "queued": 0, "pools": {"speculative": speculative}, **fields}


def status(*models: Fields, **fields: Any) -> Fields:
    return {"version": "9.9.9", "draining": False, "models": list(models), **fields}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gateway.cli", "status", *arguments]


def ask(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`spillway status` in a process of its own."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **(env or {})}
    )
