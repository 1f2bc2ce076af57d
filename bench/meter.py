"""What a process tree used, by the kernel's own accounting.

It holds on a busy machine, where wall-clock figures do not.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
CPUCLOCK_SCHED = 2  # include/linux/posix-timers.h


def process_clock(pid: int) -> float:
    """CPU seconds of a process, its ended threads included. Raises OSError if it is gone.

    The clock that clock_getcpuclockid(3) would name: nanoseconds, where /proc/PID/stat counts in ticks of 10 ms.
    """
    return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)


def _parent(pid: int) -> int:
    text = (PROC / str(pid) / "stat").read_text()
    return int(text[text.rindex(")") + 2 :].split()[1])


def process_tree(root: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
            except OSError:
                continue
    tree, pending = [], [root]
    while pending:
        pid = pending.pop()
        tree.append(pid)
        pending += children.get(pid, [])
    return tree


def cpu_seconds(root: int) -> float:
    """CPU seconds of a process and those of its descendants that still run."""
    total = 0.0
    for pid in process_tree(root):
        try:
            total += process_clock(pid)
        except OSError:
            continue
    return total


def resident_mib(root: int) -> float:
    """Resident memory of a process tree in MiB; pages that its processes share count once for each."""
    total = 0
    for pid in process_tree(root):
        try:
            status = (PROC / str(pid) / "status").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return total / 1024


@dataclass(frozen=True)
class MachineClock:
    """CPU seconds of the whole machine since boot: busy in it, and stolen from it by its host."""

    busy: float
    stolen: float


def machine_clock() -> MachineClock:
    """Read /proc/stat."""
    with (PROC / "stat").open() as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return MachineClock((user + nice + system + irq + softirq) / TICKS, steal / TICKS)
