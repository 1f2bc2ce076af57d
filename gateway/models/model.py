"""One model: its policy, its pools, and the step that decides and leases as one."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from gateway.config import ModelConfig
from gateway.load import Lease, Ticket, WaitQueue
from gateway.pools import Pool, Replica, Supervisor
from gateway.routing import (
    ROLES,
    Choice,
    ModelLoad,
    Placement,
    Reason,
    Refusal,
    Role,
    SwitchSettings,
    SwitchState,
    arrive,
    fail_over,
    limit,
    pin,
    settle,
    spill,
    switch,
)


class Ask(NamedTuple):
    """What a request wants of placement. `failed` is the role of the attempt before, `tried` the replicas so far."""

    affinity: int = 0
    pinned: Role | None = None
    failed: Role | None = None
    tried: Collection[Replica] = ()


class Grant(NamedTuple):
    """A place on a replica, and why there. Whoever holds it releases the lease."""

    lease: Lease
    pool: Pool
    replica: Replica
    reason: Reason


class Model:
    """Admission for one model. Every method runs to its end without waiting, so decide + lease is one step."""

    def __init__(self, config: ModelConfig, supervisor: Supervisor, clock: Callable[[], float]) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._switch = SwitchState()
        self.config = config
        self.pools: dict[Role, Pool] = {}
        self.queue: WaitQueue[Grant] = WaitQueue(config.policy.queue.size)
        for role in ROLES:
            self.pools[role] = Pool(config.name, role, supervisor, self._room_changed)
        self.reconfigure(config)

    @property
    def inflight(self) -> int:
        """All leases of the model, those in pools that a reload took away included."""
        return sum(pool.inflight for pool in self.pools.values())

    @property
    def high(self) -> bool:
        """Whether `switch` mode sends new requests to the baseline pool now."""
        return self._switch.high

    def reconfigure(self, config: ModelConfig) -> None:
        """Take over a validated configuration; in-flight requests keep their leases."""
        self.config = config
        self.queue.size = config.policy.queue.size
        for role, pool in self.pools.items():
            pool.reconfigure(getattr(config.pools, role))
        self._room_changed()

    def retire(self) -> None:
        """Take the model out of service: its streams finish, nothing new starts, and who waits is refused.

        Were they left waiting, a model of this name that comes back would not know of them.
        """
        self.queue.refuse()
        for pool in self.pools.values():
            pool.reconfigure(None)

    def limit(self, role: Role) -> int:
        """In-flight requests at which new ones stop going to this pool by choice."""
        pool, policy = self.pools[role], self.config.policy
        if pool.config is None:
            return 0
        spills = role == "speculative" and self.pools["baseline"].config is not None
        if spills and policy.kind == "threshold":
            return limit(self.load(), policy.threshold)
        return pool.config.max_inflight * len(pool.ready)

    def load(self, tried: Collection[Replica] = ()) -> ModelLoad:
        """Both pools at this instant."""
        speculative, baseline = self.pools["speculative"], self.pools["baseline"]
        return ModelLoad(
            speculative.load(tried) if speculative.config else None,
            baseline.load(tried) if baseline.config else None,
        )

    def admit(self, ask: Ask) -> Grant | Refusal:
        """Decide and lease, or say why not. A first attempt does not overtake others of its kind that wait already."""
        if self.queue and ask.failed is None and self.queue.blocks(ask.pinned):
            return Refusal.FULL
        return self._admit(ask)

    def could_admit(self, ask: Ask) -> bool:
        """Whether `admit` would find a place for a retry now."""
        return isinstance(self._place(ask, self.load(ask.tried)), Choice)

    def wait(self, ask: Ask, wake: Callable[[], None]) -> Ticket[Grant]:
        """Queue up.

        Raises:
            QueueFullError: the queue is full.
        """

        def try_grant() -> Grant | None:
            placed = self._admit(ask)
            return placed if isinstance(placed, Grant) else None

        return self.queue.join(ask.pinned, try_grant, wake)

    def serves(self) -> bool:
        """Whether a pool has a ready replica."""
        return any(pool.ready for pool in self.pools.values())

    def _admit(self, ask: Ask) -> Grant | Refusal:
        placement = self._place(ask, self.load(ask.tried))
        if not isinstance(placement, Choice):
            return placement
        pool = self.pools[placement.role]
        replica = pool.pick(ask.affinity, ask.tried)
        grant = Grant(self._lease(pool, replica), pool, replica, placement.reason)
        self._settle_switch()
        return grant

    def _place(self, ask: Ask, load: ModelLoad) -> Placement:
        policy = self.config.policy
        if policy.kind == "pinned":
            return fail_over(load, ask.failed, pinned=True) if ask.failed else pin(load, ask.pinned or policy.pool)
        spills = policy.mode == "spill"
        if ask.failed:
            ceiling = self.limit(ask.failed) if spills and ask.failed == "speculative" else None
            return fail_over(load, ask.failed, pinned=ask.pinned is not None, ceiling=ceiling)
        if ask.pinned:
            return pin(load, ask.pinned)
        if spills:
            return spill(load, policy.threshold)
        self._switch = arrive(self._switch, load, self._switch_settings(), self._clock())
        return switch(load, self._switch)

    def _lease(self, pool: Pool, replica: Replica) -> Lease:
        def released() -> None:
            pool.released(replica)
            self._room_changed()

        return Lease(pool, replica, released)

    def _room_changed(self) -> None:
        self._settle_switch()
        if self.queue:
            self.queue.serve()

    def _settle_switch(self) -> None:
        if self._switch.high:
            self._switch = settle(self._switch, self.load(), self._switch_settings(), self._clock())

    def _switch_settings(self) -> SwitchSettings:
        policy = self.config.policy
        if policy.kind != "threshold":
            return SwitchSettings(1, 1.0, 0.0)
        return SwitchSettings(policy.threshold, policy.resume_below, policy.min_dwell)
