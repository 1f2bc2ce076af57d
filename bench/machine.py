"""The machine and the tools, for the report."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bench.paths import ROOT, tool


def _first_line(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT)
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def _cpu() -> str:
    match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match[1] if match else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _commit() -> str:
    head = _first_line(["git", "describe", "--always", "--dirty"])
    return head or "not a git checkout"


def describe() -> dict[str, str]:
    """What a reader needs to judge the figures."""
    wrk = re.search(r"wrk\s+(\S+)", _first_line([tool("wrk"), "-v"]))
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "memory": f"{_memory_gib():.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "wrk": wrk[1] if wrk else "unknown",
        "gcc": _first_line([tool("gcc"), "--version"]),
        "commit": _commit(),
    }
