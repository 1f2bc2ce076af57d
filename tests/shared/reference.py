"""What step.lua does, in Python and of the policies themselves: the script is held against it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gateway.config import Policy
from gateway.models.placing import Ask, Table, place, table
from gateway.routing import (
    ROLES,
    Choice,
    ModelLoad,
    Placement,
    PoolLoad,
    Refusal,
    Role,
    SwitchSettings,
    SwitchState,
    arrive,
    balanced,
    digest,
    settle,
)

LONG_AGO = -1e9


class Engine(NamedTuple):
    """A ready replica as one gateway sees it."""

    url: str
    outside: int = 0

    @property
    def digest(self) -> int:
        return digest(self.url.encode())


class Candidate(NamedTuple):
    """An engine with its leases of all gateways."""

    engine: Engine
    inflight: int
    outside: int
    digest: int


@dataclass(frozen=True)
class Eyes:
    """What one gateway decides by: its ready replicas of each pool (None: no such pool) and their max_inflight."""

    policy: Policy
    engines: Mapping[Role, tuple[Engine, ...] | None]
    caps: Mapping[Role, int]

    @property
    def both(self) -> bool:
        return None not in self.engines.values()


@dataclass(frozen=True)
class Wish:
    """A request: which kind of place, and the URLs that it has tried, by pool."""

    affinity: int = 0
    pinned: Role | None = None
    failed: Role | None = None
    tried: frozenset[tuple[Role, str]] = frozenset()
    # How long it has waited in its gateway's queue; -1: it overtakes who waits.
    waited: int = 0

    @property
    def ask(self) -> Ask:
        return Ask(self.affinity, self.pinned, self.failed)


Place = tuple[Placement, str]


@dataclass
class Waiter:
    """The first in a gateway's queue, since when, and whether a place was left to it."""

    since: int
    left: bool = False


@dataclass
class Counts:
    """The counts of one model: leases by the gateway that holds them, and the switch. Time stands still."""

    leases: dict[str, dict[int, tuple[Role, str]]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    switch: SwitchState = field(default_factory=SwitchState)
    # By gateway and the pools that it may go to.
    waiters: dict[tuple[str, frozenset[Role]], Waiter] = field(default_factory=dict)

    def listen(self) -> None:
        """Silence is held against nobody where all were silent."""
        if self.silent == set(self.leases):
            self.silent.clear()

    def enter(self, name: str) -> None:
        self.listen()
        self.leases.setdefault(name, {})
        self.silent.discard(name)

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            self.leases.pop(name, None)
            self.silent.discard(name)
            for key in [key for key in self.waiters if key[0] == name]:
                del self.waiters[key]

    def held(self) -> Iterator[tuple[Role, str]]:
        for leases in self.leases.values():
            yield from leases.values()

    def totals(self) -> dict[str, int]:
        """As the script counts: pools by their first letter, replicas after it."""
        counts: Counter[str] = Counter()
        for role, url in self.held():
            counts[role[0]] += 1
            counts[f"{role[0]} {url}"] += 1
        return dict(counts)

    def step(
        self,
        name: str,
        eyes: Eyes,
        *,
        forget: Sequence[str] = (),
        adopt: Mapping[int, tuple[Role, str]] | None = None,
        release: Sequence[int] = (),
        wishes: Sequence[tuple[int, Wish]] = (),
    ) -> list[Place] | None:
        """One step of a gateway; None if it is unknown."""
        if name in self.leases:
            self.listen()
        if name not in self.leases or name in self.silent:
            return None
        self.forget([*self.silent, *forget])
        mine = self.leases.setdefault(name, {})
        for lease, at in (adopt or {}).items():
            mine.setdefault(lease, at)
        for lease in release:
            mine.pop(lease, None)
        self.settle(eyes)
        places: list[Place] = []
        for lease, wish in wishes:
            chosen = self.decide(eyes, wish)
            yields = isinstance(chosen[0], Choice) and wish.waited >= 0 and self.owed(name, eyes, wish, chosen[0].role)
            if yields:
                chosen = place(eyes.policy, self.full(eyes, wish), wish.ask, self.switch), ""
            if wish.waited > 0 and goals(eyes, wish):
                self.queue(name, eyes, wish, placed=isinstance(chosen[0], Choice), yields=yields)
            if isinstance(chosen[0], Choice):
                mine[lease] = chosen[0].role, chosen[1]
                self.settle(eyes)
            places.append(chosen)
        return places

    def owed(self, name: str, eyes: Eyes, wish: Wish, role: Role) -> bool:
        """Whether others came first to all places of this pool; they are then left to them."""
        older = sorted(
            (
                waiter
                for (other, lane), waiter in self.waiters.items()
                if other != name and role in lane and waiter.since < -wish.waited
            ),
            key=lambda waiter: waiter.since,
        )
        places = eyes.caps[role] * len(eyes.engines[role] or ()) - self.totals().get(role[0], 0)
        if max(places, 1) > len(older):
            return False
        for waiter in older[: max(places, 1)]:
            waiter.left = True
        return True

    def full(self, eyes: Eyes, wish: Wish) -> ModelLoad:
        load = self.load(eyes, wish)
        return ModelLoad(*(pool and pool._replace(has_room=False) for pool in load))

    def queue(self, name: str, eyes: Eyes, wish: Wish, *, placed: bool, yields: bool) -> None:
        """It waits on, no longer, or can't make use of what was left to it."""
        key = name, goals(eyes, wish)
        known = self.waiters.pop(key, None)
        if not placed and (yields or known is None or not known.left):
            self.waiters[key] = Waiter(-wish.waited)

    def decide(self, eyes: Eyes, wish: Wish) -> Place:
        load = self.load(eyes, wish)
        policy = eyes.policy
        if policy.kind == "threshold" and policy.mode == "switch" and not (wish.pinned or wish.failed) and eyes.both:
            self.switch = arrive(self.switch, load, settings(policy), 0.0)
        placement = place(policy, load, wish.ask, self.switch)
        if isinstance(placement, Refusal):
            return placement, ""
        return placement, self.pick(eyes, wish, placement.role)

    def pick(self, eyes: Eyes, wish: Wish, role: Role) -> str:
        """As `Pool.pick` does."""
        candidates = sorted(self.candidates(eyes, role), key=lambda each: (each.digest, each.engine.url))
        cap, total = eyes.caps[role], sum(at[0] == role for at in self.held())
        outside = sum(each.outside for each in candidates)
        excluded = {each for each in candidates if (role, each.engine.url) in wish.tried}
        if outside:
            excluded |= {each for each in candidates if each.inflight >= cap}
        best = balanced(candidates, wish.affinity, total + outside, cap + outside, excluded)
        assert best is not None
        return best.engine.url

    def candidates(self, eyes: Eyes, role: Role) -> list[Candidate]:
        counts = self.totals()
        return [
            Candidate(engine, counts.get(f"{role[0]} {engine.url}", 0), engine.outside, engine.digest)
            for engine in eyes.engines[role] or ()
        ]

    def load(self, eyes: Eyes, wish: Wish = Wish()) -> ModelLoad:
        return ModelLoad(*(self.pool_load(eyes, wish, role) for role in ROLES))

    def pool_load(self, eyes: Eyes, wish: Wish, role: Role) -> PoolLoad | None:
        if eyes.engines[role] is None:
            return None
        candidates = self.candidates(eyes, role)
        left = [each for each in candidates if (role, each.engine.url) not in wish.tried]
        room = any(each.inflight < eyes.caps[role] for each in left)
        total = sum(at[0] == role for at in self.held())
        return PoolLoad(total, len(candidates), bool(left), room, sum(each.outside for each in candidates))

    def settle(self, eyes: Eyes) -> None:
        policy = eyes.policy
        if policy.kind == "threshold" and policy.mode == "switch" and eyes.both:
            self.switch = settle(self.switch, self.load(eyes), settings(policy), 0.0)

    def wait_long(self) -> None:
        """Whatever waits for time to pass has waited long enough."""
        self.switch = _aged(self.switch)


def table_for(eyes: Eyes, wish: Wish) -> Table:
    there = [
        None if engines is None else any((role, engine.url) not in wish.tried for engine in engines)
        for role, engines in ((role, eyes.engines[role]) for role in ROLES)
    ]
    return table(eyes.policy, wish.ask, *there)


def goals(eyes: Eyes, wish: Wish) -> frozenset[Role]:
    """The pools that it may go to."""
    letters = table_for(eyes, wish).letters
    return frozenset(role for role in ROLES if role[0] in letters)


def settings(policy: Policy) -> SwitchSettings:
    assert policy.kind == "threshold"
    return SwitchSettings(policy.threshold, policy.resume_below, policy.min_dwell)


def _aged(state: SwitchState) -> SwitchState:
    alone = _aged(state.alone) if state.alone else None
    since = None if state.below_since is None else LONG_AGO
    return state._replace(below_since=since, alone=alone)
