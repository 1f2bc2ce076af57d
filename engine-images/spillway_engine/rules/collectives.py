"""What would be silently without effect between the GPUs of an engine.

Read off SGLang 0.5.23: `layers/layer_boundary/residual/add_norm.py` fuses on SM90 and SM100 only;
`distributed/device_communicators/all_reduce_utils.py` has symmetric memory for the capabilities 9 and 10 and for 2, 4,
6 and 8 GPUs; `pcie_ipc_ar.py` beside it serves 2, 4 and 8.
"""

from collections.abc import Iterator

from spillway_engine.hardware import Architecture
from spillway_engine.render import Launch
from spillway_engine.rules.finding import Finding, warn

_PCIE = "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE"
_PCIE_SIZES = (2, 4, 8)
_SYMMETRIC_SIZES = (2, 4, 6, 8)


def findings(launch: Launch) -> Iterator[Finding]:
    """Fused all-reduce, symmetric memory and the all-reduce over PCIe, each where it does nothing."""
    size = int(launch.flags["tp-size"])
    sm120 = launch.architecture is Architecture.SM120
    here = "a single GPU" if size == 1 else launch.architecture
    if "flashinfer-allreduce-fusion-backend" in launch.flags and (sm120 or size == 1):
        yield warn("allreduce-fusion-inert", f"flashinfer-allreduce-fusion-backend has no effect on {here}")
    if "enable-torch-symm-mem" in launch.flags and (sm120 or size not in _SYMMETRIC_SIZES):
        where = here if sm120 or size == 1 else f"{size} GPUs"
        yield warn("symmetric-memory-inert", f"enable-torch-symm-mem has no effect on {where}")
    if launch.env.get(_PCIE, "0").lower() in ("1", "true", "yes"):
        if size not in _PCIE_SIZES:
            yield warn("pcie-allreduce-inert", f"{_PCIE} has no effect with {size} GPUs: it needs 2, 4 or 8")
        elif not sm120:
            yield warn("pcie-allreduce-nvlink", f"{_PCIE} takes all-reduces off NVLink on {launch.architecture}")
