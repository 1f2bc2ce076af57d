"""The GPU architectures that profiles are written for."""

from enum import StrEnum


class Architecture(StrEnum):
    """A generation of GPUs, as SGLang tells them apart."""

    SM90 = "sm90"
    """Hopper: H100, H200."""
    SM100 = "sm100"
    """Blackwell for data centres: B200, B300."""
    SM120 = "sm120"
    """Blackwell for workstations and servers with PCIe: RTX PRO 6000."""

    @classmethod
    def of(cls, capability: str) -> "Architecture | None":
        """The architecture of a compute capability such as `12.0`; None if no profile knows it."""
        return {"9": cls.SM90, "10": cls.SM100, "12": cls.SM120}.get(capability.partition(".")[0])
