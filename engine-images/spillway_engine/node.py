"""What the node has: GPUs by nvidia-smi, shared memory, files of the models."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_QUERY = ("nvidia-smi", "--query-gpu=compute_cap,driver_version,name", "--format=csv,noheader")
_GIB = 1024**3


class NodeError(Exception):
    """The node could not be asked."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that engines run on."""

    capabilities: tuple[str, ...]
    """Of each GPU, such as 12.0."""
    driver: str
    names: tuple[str, ...]
    shared_memory_gib: float


def this_node(shared_memory: Path = Path("/dev/shm")) -> Node:
    """What this machine has. SGLang uses the GPUs that CUDA_VISIBLE_DEVICES leaves, if it is set.

    Raises:
        NodeError: nvidia-smi is missing or fails, or there is no shared memory.
    """
    try:
        done = subprocess.run(_QUERY, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = "no answer within 60 s"
        if isinstance(error, OSError):
            reason = "not found" if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
        raise NodeError(f"nvidia-smi: {reason}: is this a node with GPUs, and may the container see them?") from None
    if done.returncode:
        raise NodeError(f"nvidia-smi: exit status {done.returncode}: {(done.stdout + done.stderr).strip()}")
    rows = [[cell.strip() for cell in line.split(",", 2)] for line in done.stdout.splitlines() if line.strip()]
    if not rows or any(len(row) != len(("capability", "driver", "name")) for row in rows):
        raise NodeError(f"nvidia-smi: does not list GPUs: {done.stdout.strip()!r}")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        rows = [rows[int(it)] for it in visible.split(",") if it.strip().isdigit() and int(it) < len(rows)]
    try:
        room = os.statvfs(shared_memory)
    except OSError as error:
        raise NodeError(f"{shared_memory}: {error.strerror}") from None
    return Node(
        capabilities=tuple(row[0] for row in rows),
        driver=rows[0][1] if rows else "",
        names=tuple(row[2] for row in rows),
        shared_memory_gib=room.f_blocks * room.f_frsize / _GIB,
    )


def model_config(path: str) -> dict[str, Any]:
    """The text model's part of a model folder's config.json.

    Raises:
        NodeError: it cannot be read.
    """
    file = Path(path) / "config.json"
    try:
        content = json.loads(file.read_text())
    except OSError as error:
        raise NodeError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise NodeError(f"{file}: is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise NodeError(f"{file}: is no object")
    inner = content.get("text_config")
    return {**content, **inner} if isinstance(inner, dict) else content
