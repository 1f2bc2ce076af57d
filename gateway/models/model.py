"""One model: its policy, its pools, and the step that decides and leases as one."""

from collections.abc import Callable, Collection

from gateway.config import ModelConfig
from gateway.load import Lease, Ticket, WaitQueue
from gateway.load.shared import SharedCounts
from gateway.models.adapting import Adapting
from gateway.models.asking import Asking
from gateway.models.evidence import Evidence
from gateway.models.grant import Grant
from gateway.models.placing import Ask, place
from gateway.models.revisit import Revisits
from gateway.models.sharing import Sharing
from gateway.models.stay import Stay
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
    limit,
    settle,
)


class Model:
    """Admission for one model. Every method runs to its end without waiting, so decide + lease is one step.

    With `sharing` the step is Redis' to take: `ask` then, not `admit`.
    """

    def __init__(
        self,
        config: ModelConfig,
        supervisor: Supervisor,
        clock: Callable[[], float],
        shared: SharedCounts | None = None,
    ) -> None:
        """`clock` gives monotonic seconds; with `shared` several gateways count together."""
        self._clock = clock
        self._switch = SwitchState()
        self._ended: Callable[[], None] | None = None
        self.sharing: Sharing | None = None
        self.adapting: Adapting | None = None
        self.evidence: Evidence | None = None
        self.config = config
        self._shared = shared
        self.pools: dict[Role, Pool] = {}
        self.queue: WaitQueue[Grant] = WaitQueue(config.policy.queue.size)
        for role in ROLES:
            self.pools[role] = Pool(config.name, role, supervisor, self._replicas_changed)
        if shared is not None:
            self.sharing = Sharing(self, shared)
            self._revisits = Revisits(self.queue, self.sharing.ask)
        self.reconfigure(config)

    @property
    def inflight(self) -> int:
        """All leases of the model, those in pools that a reload took away included."""
        return sum(pool.inflight for pool in self.pools.values())

    @property
    def high(self) -> bool:
        """Whether `switch` mode sends new requests to the baseline pool now."""
        return self.sharing.link.high if self.sharing and self.sharing.link.decides else self._switch.high

    def reconfigure(self, config: ModelConfig) -> None:
        """Take over a validated configuration; in-flight requests keep their leases."""
        self.config = config
        self._ended = None
        self.queue.size = config.policy.queue.size
        for role, pool in self.pools.items():
            pool.reconfigure(getattr(config.pools, role))
        policy, known = config.policy, self.adapting
        self.adapting = None
        if policy.kind == "adaptive":
            self.adapting = Adapting(config.name, policy, self.pools, self._clock, known)
        self._share_evidence()
        self._replicas_changed()

    def retire(self, ended: Callable[[], None] | None = None) -> None:
        """Take the model out of service: its streams finish, nothing new starts, and who waits is refused.

        `ended` is called when its last stream has ended, unless it was configured again.

        Were they left waiting, a model of this name that comes back would not know of them.
        """
        self.queue.refuse()
        for pool in self.pools.values():
            pool.reconfigure(None)
        self._ended = ended
        self._end_if_idle()

    def close(self) -> None:
        """The model was retired, and its last stream has ended."""
        if self.evidence is not None:
            self.evidence.close()
        if self.sharing is not None:
            self._revisits.stop()
            self.sharing.close()

    def limit(self, role: Role) -> int:
        """In-flight requests at which new ones stop going to this pool by choice."""
        pool, policy = self.pools[role], self.config.policy
        if pool.config is None:
            return 0
        spills = role == "speculative" and self.pools["baseline"].config is not None
        if spills and policy.kind == "threshold":
            return limit(self.load(), policy.threshold)
        return pool.config.max_inflight * len(pool.ready)

    def share(self, role: Role) -> int:
        """What this gateway may hold of `limit` while it can't count together with the others."""
        gateways = 1 if self.sharing is None else self.sharing.link.gateways
        whole = self.limit(role)
        return min(whole, max(whole // gateways, 1))

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
        return self.decide(ask)

    def ask(self, ask: Ask, wake: Callable[[], None]) -> Asking:
        """`admit` where counts are shared: the answer is there at once, or comes with a call of `wake`."""
        assert self.sharing is not None
        if self.queue and ask.failed is None and self.queue.blocks(ask.pinned):
            asking = Asking(self.sharing, ask, wake)
            asking.placed = Refusal.FULL
            return asking
        return self.sharing.ask(ask, wake)

    def could_admit(self, ask: Ask) -> bool:
        """Whether `admit` would find a place for a retry now."""
        return isinstance(self._place(ask, self.load(ask.tried)), Choice)

    def wait(self, ask: Ask, wake: Callable[[], None]) -> Ticket[Grant]:
        """Queue up.

        Raises:
            QueueFullError: the queue is full.
        """

        def try_grant() -> Grant | None:
            placed = self.decide(ask)
            return placed if isinstance(placed, Grant) else None

        ticket = self.queue.join(ask.pinned, try_grant, wake)
        if self.sharing is not None:
            self._revisits.add(ticket, ask)
        return ticket

    def expects(self, ask: Ask) -> bool:
        """Whether a pool that may take the request is about to have ready replicas: just found, or not found yet."""
        policy = self.config.policy
        role = ask.pinned or (policy.pool if policy.kind == "pinned" else None)
        return any(pool.expecting for of, pool in self.pools.items() if role in (None, of))

    def serves(self) -> bool:
        """Whether a pool has a ready replica."""
        return any(pool.ready for pool in self.pools.values())

    def decide(self, ask: Ask) -> Grant | Refusal:
        """Decide and lease by this gateway's own counts, whoever waits."""
        placement = self._place(ask, self.load(ask.tried))
        if not isinstance(placement, Choice):
            return placement
        pool = self.pools[placement.role]
        replica = pool.pick(ask.affinity, ask.tried)
        number = None if self.sharing is None else self.sharing.adopt(pool, replica)
        grant = self._grant(pool, replica, placement.reason, number, ask.size)
        self._settle_switch()
        return grant

    def grant(self, pool: Pool, replica: Replica, reason: Reason, number: int, size: int) -> Grant:
        """Lease what Redis has decided, under the number that it has there; `size`: of the request's body."""
        return self._grant(pool, replica, reason, number, size)

    def wished(self, ask: Ask) -> Ask:
        """With what the policy has decided, where Redis is only asked whether there is room."""
        if self.adapting is None or ask.failed or ask.pinned:
            return ask
        wish = self.adapting.place(self._whole_load(ask.tried), ask.size)
        return ask._replace(wish=wish if isinstance(wish, Choice) else None)

    def sharing_changed(self) -> None:
        """Redis decides from now on, or no longer: then this gateway does, with its share of the limits."""
        if self.sharing is None:
            return
        self._switch = SwitchState(high=self.sharing.link.high)
        for pool in self.pools.values():
            pool.divide(self.sharing.gateways)
        self._room_changed()

    def _share_evidence(self) -> None:
        """Tell other gateways what is learned, and learn from them, as long as the policy learns."""
        adapting, known = self.adapting, self.evidence
        learning = None if adapting is None or self._shared is None else adapting.learning
        if known is not None and known.learning is learning:
            return
        if learning is None or self._shared is None:
            if known is not None:
                known.close()
            self.evidence = None
        else:
            self.evidence = Evidence(self.config.name, learning, self._shared, self._clock, known)

    def _place(self, ask: Ask, load: ModelLoad) -> Placement:
        policy = self.config.policy
        if policy.kind == "threshold" and policy.mode == "switch" and not (ask.failed or ask.pinned):
            self._switch = arrive(self._switch, load, self._switch_settings(), self._clock())
        if self.adapting is not None and not (ask.failed or ask.pinned):
            return self.adapting.place(self._whole_load(ask.tried), ask.size)
        return place(policy, load, ask, self._switch, self._gateways)

    def _whole_load(self, tried: Collection[Replica]) -> ModelLoad:
        """With what other gateways hold; while they can't be asked, as much as this one does."""
        gateways = self._gateways
        speculative, baseline = (
            part and part._replace(inflight=part.inflight * gateways + self.pools[role].elsewhere)
            for role, part in zip(ROLES, self.load(tried), strict=True)
        )
        return ModelLoad(speculative, baseline)

    @property
    def _gateways(self) -> int:
        return 1 if self.sharing is None else self.sharing.gateways

    def _grant(self, pool: Pool, replica: Replica, reason: Reason, number: int | None, size: int) -> Grant:
        stay = None if self.adapting is None else self.adapting.expected(pool, replica, size)
        return Grant(self._lease(pool, replica, number, stay), pool, replica, reason, stay)

    def _lease(self, pool: Pool, replica: Replica, number: int | None, stay: Stay | None) -> Lease:
        def released() -> None:
            if stay is not None:
                stay.ended(self._clock())
            if number is not None and self.sharing is not None:
                self.sharing.link.release(number)
            pool.released(replica)
            self._room_changed()
            if self._ended is not None:
                self._end_if_idle()

        return Lease(pool, replica, released)

    def _end_if_idle(self) -> None:
        ended = self._ended
        if ended is not None and not self.inflight:
            self._ended = None
            ended()

    def _replicas_changed(self) -> None:
        if self.sharing is not None:
            self.sharing.changed()
        self._room_changed()

    def _room_changed(self) -> None:
        if self.sharing is not None and self.sharing.link.decides:
            if self.queue:
                self._revisits.serve()
            return
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
        return SwitchSettings(policy.threshold, policy.resume_below, policy.min_dwell, self._gateways)
