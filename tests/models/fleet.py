"""Models with real pools of replicas that nobody probes: tests say when one is well and when it is not."""

from collections.abc import Sequence
from typing import Any

from gateway.config import Discovery, ModelConfig
from gateway.models import Ask, Grant, Model
from gateway.pools import Pool, Replica
from gateway.pools.discovery import static_urls
from gateway.routing import ROLES, Reason, Refusal, Role

ASK = Ask()


class Clock:
    """Monotonic seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Watch:
    """A supervisor that finds static replicas, and keeps the books: that each is dismissed once, idle."""

    def __init__(self) -> None:
        self.adopted: list[Replica] = []
        self.dismissed: list[Replica] = []

    def discover(self, pool: Pool, discovery: Discovery | None) -> None:
        if discovery is not None:
            pool.reconcile(static_urls(discovery))

    def adopt(self, _pool: Pool, replica: Replica) -> None:
        assert replica not in self.adopted
        self.adopted.append(replica)

    def dismiss(self, replica: Replica) -> None:
        assert replica in self.adopted
        assert replica not in self.dismissed
        assert replica.inflight == 0
        assert replica.removed
        self.dismissed.append(replica)


def urls(role: Role, numbers: Sequence[int]) -> list[str]:
    return [f"http://{role}-{number}:30000" for number in numbers]


def config(
    speculative: int | Sequence[int] | None = 1,
    baseline: int | Sequence[int] | None = 1,
    *,
    name: str = "m",
    max_inflight: int = 128,
    queue: int = 128,
    health: dict[str, Any] | None = None,
    **policy: Any,
) -> ModelConfig:
    """A model whose pools have so many replicas, or those of these numbers; None: no such pool."""
    pools = {}
    for role, wanted in zip(ROLES, (speculative, baseline), strict=True):
        if wanted is not None:
            numbers = range(wanted) if isinstance(wanted, int) else wanted
            static = urls(role, numbers)
            pools[role] = {"max_inflight": max_inflight, "discovery": {"static": static}, "health": health or {}}
    policy = {"queue": {"size": queue}, **policy}
    return ModelConfig.model_validate({"name": name, "policy": policy, "pools": pools})


def make(made: ModelConfig, clock: Clock | None = None, watch: Watch | None = None, *, well: bool = True) -> Model:
    """A model of this configuration, with all its replicas ready unless told otherwise."""
    clock = clock or Clock()
    model = Model(made, watch or Watch(), clock)
    if well:
        for pool in model.pools.values():
            recover(pool, *pool.replicas.values(), now=clock.now)
    return model


def recover(pool: Pool, *replicas: Replica, now: float = 1e9) -> None:
    """A probe of each has succeeded."""
    for replica in replicas:
        replica.health.probe_succeeded(now)
    pool.refresh()


def eject(pool: Pool, *replicas: Replica, now: float = 1000.0) -> None:
    """Requests on each have failed."""
    for replica in replicas:
        for _ in range(replica.health.settings.eject_after):
            replica.health.request_failed(now)
    pool.refresh()


def take(model: Model, ask: Ask = ASK) -> Grant:
    """A grant that has to come at once."""
    placed = model.admit(ask)
    assert isinstance(placed, Grant), placed
    return placed


def fill(model: Model, ask: Ask = ASK) -> list[Grant]:
    """Grants until there are no more."""
    grants = []
    while isinstance(placed := model.admit(ask), Grant):
        grants.append(placed)
    return grants


def where(placed: Grant | Refusal) -> tuple[Role, Reason] | Refusal:
    """The part of a grant that policies decide."""
    return (placed.pool.role, placed.reason) if isinstance(placed, Grant) else placed
