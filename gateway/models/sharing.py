"""What a model does where several gateways share its counts: asks Redis for places, or decides by its share."""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Protocol

from gateway.config import ModelConfig
from gateway.load import WaitQueue
from gateway.load.shared import Link, SharedCounts, Terms, View, member
from gateway.models.asking import Asking
from gateway.models.grant import Grant
from gateway.models.placing import Ask, Table, table, terms
from gateway.pools import Pool, Replica, State
from gateway.routing import ROLES, Choice, Placement, Reason, Refusal, Role

# What makes a table: the pool asked for and the one that failed; what was decided already; for a request that has tried
# replicas, whether pools have others.
_Kind = tuple[Role | None, Role | None, Choice | None, tuple[bool | None, ...]]


class Placer(Protocol):
    """The model."""

    config: ModelConfig
    pools: dict[Role, Pool]
    queue: WaitQueue[Grant]

    def decide(self, ask: Ask) -> Grant | Refusal:
        """Decide and lease by this gateway's own counts."""
        ...

    def wished(self, ask: Ask) -> Ask:
        """With what the policy has decided, where Redis is only asked whether there is room."""
        ...

    def grant(self, pool: Pool, replica: Replica, reason: Reason, number: int, size: int) -> Grant:
        """Lease what Redis has decided, under the number that it has there; `size`: of the request's body."""
        ...

    def sharing_changed(self) -> None:
        """Redis decides from now on, or no longer."""
        ...


class Sharing:
    """One model's side of its link."""

    def __init__(self, model: Placer, shared: SharedCounts) -> None:
        """Share from now on."""
        self._model = model
        self._shared = shared
        self._version = 0
        self._outside: tuple[int, ...] = ()
        self._terms: Terms | None = None
        self._tables: dict[_Kind, Table] = {}
        self._pools = tuple(model.pools[role] for role in ROLES)
        self.local_decisions = 0
        self.link: Link = shared.link(model.config.name, self)

    @property
    def gateways(self) -> int:
        """Among how many gateways limits are to be divided: one where Redis keeps them."""
        return 1 if self.link.decides else self.link.gateways

    def changed(self) -> None:
        """Settings are others, or the ready replicas."""
        self._version += 1
        self._terms = None
        self._tables.clear()

    def close(self) -> None:
        """The model is gone."""
        self._shared.unlink(self.link)

    # Asking

    def ask(self, ask: Ask, wake: Callable[[], None], since: float | None = None) -> Asking:
        """Ask for a place: the answer may be there at once, or comes with a call of `wake`.

        `since`: the monotonic time since when the request waits in the queue, if it does.
        """
        asking = Asking(self, self._model.wished(ask), wake, since)
        if self.link.state != "down":
            self._send(asking)
        else:
            asking.placed = self._decide(ask)
        return asking

    def answered(self, asking: Asking, choice: Placement, url: str) -> None:
        """Redis has decided about a request."""
        if isinstance(choice, Refusal):
            asking.settle(choice)
            return
        pool = self._model.pools[choice.role]
        replica = pool.replicas.get(url)
        if replica is None or replica.state is not State.READY:
            # It went while Redis was asked.
            self.link.release(asking.lease)
            self.again(asking)
        else:
            asking.settle(self._model.grant(pool, replica, choice.reason, asking.lease, asking.ask.size))

    def again(self, asking: Asking) -> None:
        """Ask anew for the same request."""
        if self.link.decides:
            self._send(asking)
            if asking.placed is not None:
                asking.settle(asking.placed)
        else:
            self.unanswered(asking)

    def adopt(self, pool: Pool, replica: Replica) -> int:
        """Have a lease that was decided here counted when Redis is back; its number there."""
        number = self.link.lease()
        self.link.adopt(number, _field(pool, replica))
        return number

    def unanswered(self, asking: Asking) -> None:
        """Redis does not answer."""
        asking.settle(self._decide(asking.ask))

    def _send(self, asking: Asking) -> None:
        ask = asking.ask
        # `changed` clears the tables whenever a replica becomes ready or is no longer.
        others = tuple(_available(pool, ask) for pool in self._pools) if ask.tried else ()
        kind = ask.pinned, ask.failed, ask.wish, others
        known = self._tables.get(kind)
        if known is None:
            there = [_available(pool, ask) for pool in self._pools]
            known = self._tables[kind] = table(self._model.config.policy, ask, *there)
        if known.refusal is not None:
            asking.placed = known.refusal
            return
        asking.test, asking.letters, asking.choices = known.test, known.letters, known.choices
        if asking.waiting_since is not None:
            asking.waited = max(int((monotonic() - asking.waiting_since) * 1000), 1)
        elif ask.failed:
            asking.waited = -1
        if ask.tried:
            asking.tried = [_field(pool, replica) for pool in self._pools for replica in ask.tried]
        self.link.ask(asking)

    def _decide(self, ask: Ask) -> Grant | Refusal:
        self.local_decisions += 1
        return self._model.decide(ask)

    # What the link asks and tells

    def version(self) -> int:
        """See Owner."""
        # What engines hold beside our leases changes at any time, and nobody says so.
        speculative, baseline = self._pools
        if speculative.outside or baseline.outside or self._outside:
            outside = tuple(replica.outside for pool in self._pools if pool.outside for replica in pool.ready)
            if outside != self._outside:
                self._outside = outside
                self._version += 1
                self._terms = None
        return self._version

    def terms(self) -> Terms:
        """See Owner."""
        if self._terms is None:
            self._terms = self._made_terms()
        return self._terms

    def views(self) -> tuple[View, View]:
        """See Owner."""
        speculative, baseline = map(self._view, self._pools)
        return speculative, baseline

    def counted(self, counts: Mapping[str, int]) -> None:
        """See Owner."""
        for pool in self._model.pools.values():
            pool.elsewhere = max(counts.get(pool.role[0], 0) - pool.inflight, 0)
            for replica in pool.replicas.values():
                replica.elsewhere = max(counts.get(_field(pool, replica), 0) - replica.inflight, 0)

    def link_changed(self) -> None:
        """See Owner."""
        for pool in self._model.pools.values():
            pool.forget_outside()
        if not self.link.decides:
            for pool in self._model.pools.values():
                pool.elsewhere = 0
                for replica in pool.replicas.values():
                    replica.elsewhere = 0
        self._model.sharing_changed()

    def _made_terms(self) -> Terms:
        pools = self._pools
        caps = [pool.config.max_inflight if pool.config else 0 for pool in pools]
        outside = [pool.outside for pool in pools]
        both = all(pool.config for pool in pools)
        return terms(self._model.config.policy, len(pools[0].ready), caps, outside, both=both)

    def _view(self, pool: Pool) -> View:
        if pool.config is None:
            return ()
        return [item for replica in pool.ready for item in (member(replica.url, replica.outside), replica.digest)]


def _field(pool: Pool, replica: Replica) -> str:
    return f"{pool.role[0]} {replica.url}"


def _available(pool: Pool, ask: Ask) -> bool | None:
    if pool.config is None:
        return None
    if not ask.tried:
        return bool(pool.ready)
    return any(replica not in ask.tried for replica in pool.ready)
