"""An arm of the experiment: where its requests go, and how the gateway is told."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtest.stats.crossover import BASELINE, SPECULATIVE
from loadtest.stats.verdict import SPILLWAY


class BadArmError(ValueError):
    """An arm that can't be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Arm:
    """`pool` pins it by header, `url` sends it elsewhere than the rest, `model` asks for another model."""

    name: str
    pool: str = ""
    url: str = ""
    model: str = ""

    @property
    def headers(self) -> Mapping[str, str]:
        """What its requests carry beside the others' headers."""
        return {"x-spillway-pool": self.pool} if self.pool else {}

    def __str__(self) -> str:
        kinds = (("pool", self.pool), ("url", self.url), ("model", self.model))
        return f"{self.name}={','.join(f'{kind}:{value}' for kind, value in kinds if value)}".removesuffix("=")


def default_arms() -> tuple[Arm, ...]:
    """Each pool by itself, pinned by header, and the gateway's own choice."""
    return (Arm(SPECULATIVE, pool=SPECULATIVE), Arm(BASELINE, pool=BASELINE), Arm(SPILLWAY))


def parse_arm(text: str) -> Arm:
    """`NAME`, `NAME=pool:POOL`, `NAME=model:MODEL` or `NAME=URL`. Raises BadArmError."""
    name, _, how = text.partition("=")
    if not name or name != name.strip():
        raise BadArmError(f"{text!r} is not an arm: it must be NAME, NAME=pool:POOL, NAME=model:MODEL or NAME=URL")
    kind, _, value = how.partition(":")
    if not how:
        return Arm(name)
    if kind in ("http", "https"):
        return Arm(name, url=how)
    if kind == "pool" and value:
        return Arm(name, pool=value)
    if kind == "model" and value:
        return Arm(name, model=value)
    raise BadArmError(f"{text!r}: after the name there must be pool:POOL, model:MODEL or a URL")
