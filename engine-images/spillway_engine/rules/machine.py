"""Whether the node is one that the profile is for."""

from collections.abc import Iterator

from spillway_engine.hardware import Architecture
from spillway_engine.node import Node
from spillway_engine.render import Launch
from spillway_engine.rules.finding import Finding, refuse


def findings(launch: Launch, node: Node) -> Iterator[Finding]:
    """GPUs by number and kind, driver and shared memory."""
    hardware = launch.profile.base.hardware
    needed = int(launch.flags["tp-size"])
    if (found := len(node.capabilities)) < needed:
        yield refuse("gpu-count", f"tensor parallelism over {needed} GPUs, and {found} are here: give --gpus={found}")
    kinds = {Architecture.of(it) for it in node.capabilities}
    if len(kinds) > 1:
        yield refuse("gpu-mixed", f"the GPUs here are of several kinds: {', '.join(sorted(set(node.names)))}")
    elif kinds and not kinds <= set(hardware.architectures):
        wanted = ", ".join(hardware.architectures)
        yield refuse(
            "gpu-architecture",
            f"{node.names[0]} has compute capability {node.capabilities[0]}, and the profile is for {wanted}",
        )
    major = node.driver.partition(".")[0]
    if major.isdigit() and int(major) < hardware.driver:
        yield refuse("driver", f"driver {node.driver} is older than {hardware.driver}, which the image's CUDA needs")
    if node.shared_memory_gib < hardware.shared_memory_gib:
        yield refuse(
            "shared-memory",
            f"/dev/shm has {node.shared_memory_gib:.1f} GiB, and the processes of the engine need "
            f"{hardware.shared_memory_gib}: docker run --shm-size, or the chart's engine.sharedMemory",
        )
