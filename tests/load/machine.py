"""Requests and operators at work on one model in any order, with what must hold after every step.

Requests do what the relay does with grants and tickets, step by step, so that anything may come in between.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gateway.config import ModelConfig
from gateway.load import QueueFullError, Ticket
from gateway.models import Ask, Grant, Model, Models
from gateway.pools import Pool, Replica, State
from gateway.routing import ROLES, Reason, Refusal, Role
from tests.models.fleet import Clock, Watch, config, eject

numbers = st.integers(0, 99)
replica_sets = st.none() | st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True).map(tuple)
policies = st.one_of(
    st.fixed_dictionaries({"mode": st.sampled_from(["spill", "switch"]), "threshold": st.integers(1, 2)}),
    st.fixed_dictionaries({"kind": st.just("pinned"), "pool": st.sampled_from(ROLES)}),
)
changes = st.one_of(
    st.fixed_dictionaries({"speculative": replica_sets}),
    st.fixed_dictionaries({"baseline": replica_sets}),
    st.fixed_dictionaries({"policy": policies}),
    st.fixed_dictionaries({"max_inflight": st.integers(2, 4), "queue": st.integers(0, 4)}),
    st.fixed_dictionaries({"absent": st.booleans()}),
)


@dataclass
class Shape:
    """What the configuration file says of the model `m`; absent: it is not in the file."""

    speculative: tuple[int, ...] | None = (0, 1)
    baseline: tuple[int, ...] | None = (0,)
    policy: dict[str, Any] = field(default_factory=lambda: {"mode": "spill", "threshold": 1})
    max_inflight: int = 2
    queue: int = 3
    absent: bool = False

    def config(self) -> ModelConfig:
        needed = [self.policy["pool"]] if "pool" in self.policy else []
        if self.speculative is self.baseline is None or any(getattr(self, role) is None for role in needed):
            return replace(self, speculative=(0, 1), baseline=(0,)).config()
        return config(self.speculative, self.baseline, max_inflight=self.max_inflight, queue=self.queue, **self.policy)


@dataclass(eq=False)
class Waiting:
    """A request in the queue of a model, or granted and not yet told."""

    model: Model
    ask: Ask
    ticket: Ticket[Grant]


def only_pool(model: Model, ask: Ask) -> Role | None:
    """The one pool that may take the request, if there is but one."""
    policy = model.config.policy
    return ask.pinned or ((ask.failed or policy.pool) if policy.kind == "pinned" else None)


class Admission(RuleBasedStateMachine):
    """One gateway's bookkeeping."""

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.watch, self.shape = Clock(), Watch(), Shape()
        self.models = Models(self.watch, self.clock)
        self.seen: list[Model] = []
        self.held: list[Grant] = []
        self.spent: list[Grant] = []
        self.waiting: list[Waiting] = []

    # Requests

    @precondition(lambda self: not self.shape.absent)
    @rule(affinity=numbers, pinned=st.none() | st.sampled_from(ROLES), count=st.integers(1, 4))
    def arrive(self, affinity: int, pinned: Role | None, count: int) -> None:
        model = self.model
        if pinned and model.pools[pinned].config is None:
            return  # the relay refuses those
        for _ in range(count):
            self.ask(model, Ask(affinity, pinned))

    @precondition(lambda self: self.held)
    @rule(pick=numbers, again=numbers)
    def finish(self, pick: int, again: int) -> None:
        """One request ends, and one that has ended is released once more."""
        grant = self.held.pop(pick % len(self.held))
        grant.lease.release()
        self.spent.append(grant)
        self.spent[again % len(self.spent)].lease.release()

    @precondition(lambda self: self.held)
    @rule(pick=numbers, second=st.booleans(), pinned=st.booleans())
    def fail_and_retry(self, pick: int, second: bool, pinned: bool) -> None:
        """As the relay does: look for a place first, then give the old one back, then ask."""
        grant = self.held.pop(pick % len(self.held))
        model = next(model for model in self.seen if grant.pool in model.pools.values())
        tried = tuple(grant.pool.replicas.values())[:1] if second else ()
        ask = Ask(pinned=grant.pool.role if pinned else None, failed=grant.pool.role, tried=(*tried, grant.replica))
        possible = model.could_admit(ask)
        grant.lease.release()
        if possible:
            self.ask(model, ask)

    @precondition(lambda self: self.waiting)
    @rule(pick=numbers, uses=st.booleans())
    def stop_waiting(self, pick: int, uses: bool) -> None:
        """The client left, time is up, or the request was woken: it may have been granted a place by then."""
        entry = self.waiting.pop(pick % len(self.waiting))
        grant = entry.ticket.leave()
        if grant is not None and uses:
            self.held.append(grant)
        elif grant is not None:
            grant.lease.release()

    def ask(self, model: Model, ask: Ask) -> None:
        queued, size = len(model.queue), model.queue.size
        placed = model.admit(ask)
        if isinstance(placed, Grant):
            self.check_placement(model, ask, placed)
            self.held.append(placed)
        elif placed is Refusal.FULL:
            entries: list[Waiting] = []
            try:
                ticket = model.wait(ask, lambda: self.check_grant(entries[0]))
            except QueueFullError:
                assert queued >= size
                return
            assert queued < size
            entries.append(Waiting(model, ask, ticket))
            self.waiting += entries

    # Operators and engines

    @property
    def model(self) -> Model:
        model = self.models.find("m")
        assert model is not None
        return model

    @property
    def replicas(self) -> list[tuple[Pool, Replica]]:
        pools = [pool for model in self.seen for pool in model.pools.values()]
        return [(pool, replica) for pool in pools for replica in pool.replicas.values()]

    @rule(seconds=st.sampled_from([0.0, 3.0, 70.0]), all_but=st.none() | numbers)
    def probe(self, seconds: float, all_but: int | None) -> None:
        """Some time later every replica has been probed, perhaps all but one."""
        self.clock.now += seconds
        for number, (pool, replica) in enumerate(self.replicas):
            if number != all_but:
                replica.health.probe_succeeded(self.clock.now)
                pool.refresh()

    @precondition(lambda self: self.replicas)
    @rule(pick=numbers)
    def fail_requests(self, pick: int) -> None:
        eject(*self.replicas[pick % len(self.replicas)], now=self.clock.now)

    @rule(change=changes)
    def change(self, change: dict[str, Any]) -> None:
        """The file was edited."""
        self.reload(replace(self.shape, **change))

    @initialize()
    def start(self) -> None:
        self.reload(self.shape)
        self.probe(0.0, None)

    def reload(self, shape: Shape) -> None:
        self.shape = shape
        others = (config(None, 1, name="other"),)
        self.models.reconfigure(others if shape.absent else (*others, shape.config()))
        model = self.models.find("m")
        if model is not None and model not in self.seen:
            assert not any(old.inflight for old in self.seen), "a model that comes back counts what it still has"
            self.seen.append(model)

    # What must hold when a place is given

    def check_placement(self, model: Model, ask: Ask, grant: Grant) -> None:
        pool, replica, policy = grant.pool, grant.replica, model.config.policy
        assert replica.state is State.READY
        assert replica not in ask.tried
        assert pool.config is not None
        assert replica.inflight <= pool.config.max_inflight
        if ask.pinned:
            assert pool.role == ask.pinned
        if grant.reason is Reason.UNDER_THRESHOLD and policy.kind == "threshold" and policy.mode == "spill":
            assert pool.inflight <= policy.threshold * len(pool.ready)

    def check_grant(self, entry: Waiting) -> None:
        """Called as the queue makes the grant: nobody who came earlier to the same lane is left behind."""
        if entry.ticket.refused:
            return
        assert entry.ticket.grant is not None
        self.check_placement(entry.model, entry.ask, entry.ticket.grant)
        if entry.ask.failed is None:
            earlier = self.waiting[: self.waiting.index(entry)]
            lane = [each for each in earlier if each.model is entry.model and each.ask.pinned == entry.ask.pinned]
            assert all(each.ticket.grant or each.ticket.refused or each.ask.failed for each in lane)

    # What must hold after every step

    @invariant()
    def counts_are_the_leases(self) -> None:
        granted = [entry.ticket.grant for entry in self.waiting if entry.ticket.grant]
        held = [*self.held, *granted]
        assert all(grant.lease.held for grant in held)
        for model in self.seen:
            for pool in model.pools.values():
                mine = [grant for grant in held if grant.pool is pool]
                assert pool.inflight == len(mine)
                assert sum(replica.inflight for replica in pool.replicas.values()) == len(mine)
                for replica in pool.replicas.values():
                    assert replica.inflight == sum(grant.replica is replica for grant in mine)
                assert set(pool.ready) == {each for each in pool.replicas.values() if each.state is State.READY}

    @invariant()
    def nobody_waits_who_could_be_placed(self) -> None:
        for entry in self.waiting:
            if entry.ticket.grant is not None or entry.ticket.refused:
                continue
            assert entry.model in list(self.models), "no reload will ever give room to a model that is gone"
            policy = entry.model.config.policy
            pinned = entry.ask.pinned or (policy.pool if policy.kind == "pinned" else None)
            for pool in entry.model.pools.values():
                if pool.config is None or pinned not in (None, pool.role):
                    continue
                for replica in pool.ready:
                    assert replica in entry.ask.tried or replica.inflight >= pool.config.max_inflight

    @invariant()
    def who_is_gone_was_dismissed(self) -> None:
        """`Watch` sees to it that nobody is dismissed twice or busy."""
        known: set[Replica] = set()
        for pool in [pool for model in [*self.seen, *self.models] for pool in model.pools.values()]:
            wanted = pool.config.discovery.static if pool.config else ()
            for url, replica in pool.replicas.items():
                assert replica.removed == (url not in wanted)
                assert replica.inflight or not replica.removed
            known |= set(pool.replicas.values())
        assert known.isdisjoint(self.watch.dismissed)
        assert known | set(self.watch.dismissed) == set(self.watch.adopted)

    def teardown(self) -> None:
        """When all requests have ended, nothing is left of the model once it is removed."""
        while self.held or self.waiting:
            if self.held:
                self.finish(0, 0)
            else:
                self.stop_waiting(0, uses=True)
        self.counts_are_the_leases()
        self.models.reconfigure(())
        assert set(self.watch.dismissed) == set(self.watch.adopted)
        for model in self.seen:
            assert len(model.queue) == model.inflight == 0
