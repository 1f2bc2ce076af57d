"""How two replicas, one of each pool, get along on the same hardware."""

from typing import Annotated, Literal

from pydantic import Field

Loss = Annotated[float, Field(gt=0.0, lt=1.0)]
Sharing = Literal["own", "time"] | Loss
"""`own`: each has hardware of its own, and nothing is lost. `time`: one piece of hardware serves all requests in turn,
so that each gets what its engine would give it if it held those of both. A number: the share of its speed that a
replica loses while the other is busy, where one engine alone does not fill the hardware."""


def left(sharing: Sharing, inflight: int, beside: int) -> float:
    """The share of its speed that a replica with `inflight` requests has left with `beside` on the other."""
    if not beside or sharing == "own":
        return 1.0
    if sharing == "time":
        return inflight / (inflight + beside)
    return 1.0 - sharing
