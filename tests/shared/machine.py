"""Gateways at work on one model's counts in any order; after each step the server holds what the reference holds."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gateway.config import PinnedPolicy, Policy, ThresholdPolicy
from gateway.routing import ROLES, Role
from tests.shared.reference import Counts, Engine, Eyes, Wish
from tests.shared.scripted import Shared

numbers = st.integers(0, 99)
URLS = {role: [f"http://{role}-{number}:30000" for number in range(70)] for role in ROLES}

policies: st.SearchStrategy[Policy] = st.one_of(
    st.builds(
        ThresholdPolicy,
        mode=st.sampled_from(["spill", "switch"]),
        threshold=st.integers(1, 3),
        resume_below=st.sampled_from([0.3, 0.6, 1.0]),
        min_dwell=st.sampled_from([0.0, 1e6]),
    ),
    st.builds(PinnedPolicy, kind=st.just("pinned"), pool=st.sampled_from(ROLES)),
)
affinities = st.integers(0, 2**32 - 1)


def engines(role: Role) -> st.SearchStrategy[tuple[Engine, ...]]:
    """Few in most cases, and now and then more than are looked at one by one."""
    few = st.lists(st.integers(0, 3), max_size=4, unique=True)
    many = st.just(list(range(70)))
    outside = st.lists(st.sampled_from([0, 0, 0, 1, 4]), min_size=1, max_size=4)
    return st.builds(
        lambda chosen, extra: tuple(
            Engine(URLS[role][number], extra[at % len(extra)]) for at, number in enumerate(chosen)
        ),
        st.one_of(few, few, few, many),
        st.one_of(st.just([0]), outside),
    )


views = st.fixed_dictionaries({role: st.none() | engines(role) for role in ROLES})
wishes = st.lists(
    st.builds(
        Wish,
        affinities,
        st.none() | st.sampled_from(ROLES),
        st.none() | st.sampled_from(ROLES),
        st.frozensets(st.sampled_from([(role, URLS[role][at]) for role in ROLES for at in range(4)]), max_size=3),
        st.sampled_from([-1, 0, 0, 0, 1, 1, 2, 3]),
    ),
    max_size=4,
)


class Gateways(RuleBasedStateMachine):
    """The script on `server`, which a subclass has. `crowded`: with a few places, so that queues come about."""

    server: Any = None
    crowded = False

    def __init__(self) -> None:
        super().__init__()
        self.client = self.server.client()
        self.shared = Shared(self.client)
        self.counts = Counts()
        self.names: list[str] = []
        self.eyes: dict[str, Eyes] = {}
        self.numbers = 0
        self.policy: Policy = ThresholdPolicy()
        self.caps: dict[Role, int] = {}

    @initialize(policy=policies, speculative=st.integers(1, 3), baseline=st.integers(1, 3))
    def start(self, policy: Policy, speculative: int, baseline: int) -> None:
        self.policy, self.caps = policy, {"speculative": speculative, "baseline": baseline}
        if self.crowded:
            self.caps = {"speculative": min(speculative, 2), "baseline": 1}
        self.enter({"speculative": (Engine(URLS["speculative"][0]),), "baseline": (Engine(URLS["baseline"][0]),)})

    # Gateways

    @precondition(lambda self: len(self.names) < 4)
    @rule(seen=views)
    def enter(self, seen: dict[Role, tuple[Engine, ...] | None]) -> None:
        name = f"gw.{len(self.eyes) + 1}"
        self.names.append(name)
        self.look(name, seen)
        self.shared.enter(name)
        self.counts.enter(name)

    @rule(pick=numbers, seen=views)
    def see_other_replicas(self, pick: int, seen: dict[Role, tuple[Engine, ...] | None]) -> None:
        if self.names:
            self.look(self.names[pick % len(self.names)], seen)

    def look(self, name: str, seen: dict[Role, tuple[Engine, ...] | None]) -> None:
        if self.crowded:
            seen = {role: (Engine(URLS[role][len(engines or ()) // 3 % 2]),) for role, engines in seen.items()}
        self.eyes[name] = Eyes(self.policy, seen, self.caps)

    @precondition(lambda self: self.names)
    @rule(pick=numbers)
    def fall_silent(self, pick: int) -> None:
        name = self.names[pick % len(self.names)]
        self.shared.silence(name)
        if name in self.counts.leases:
            self.counts.silent.add(name)

    @precondition(lambda self: self.names)
    @rule(pick=numbers, keep=numbers)
    def come_back(self, pick: int, keep: int) -> None:
        """Under another name, with most of what it held; the old name may have been forgotten, or not."""
        old = self.names.pop(pick % len(self.names))
        held = dict(self.counts.leases.get(old, {}))
        for lease in list(held)[: keep % 3]:
            del held[lease]
        self.enter(dict(self.eyes[old].engines))
        self.step(self.names[-1], what="beat", forget=(old,), adopt=held)

    # Steps

    @precondition(lambda self: self.names)
    @rule(pick=numbers, asked=wishes, releases=st.lists(st.tuples(numbers, numbers), max_size=4))
    def work(self, pick: int, asked: list[Wish], releases: list[tuple[int, int]]) -> None:
        """Some are released twice, some by a gateway that never had them, some were never given."""
        name = self.names[pick % len(self.names)]
        known = [lease for leases in self.counts.leases.values() for lease in leases]
        if self.crowded:
            known = list(self.counts.leases.get(name, known))
            asked = [replace(wish, failed=None, tried=frozenset()) if wish.affinity % 4 else wish for wish in asked]
        given = [known[first % len(known)] if known and second % 5 else first for first, second in releases]
        numbered = []
        for wish in asked:
            if wish.pinned and self.eyes[name].engines[wish.pinned] is None:
                continue  # the relay refuses those
            self.numbers += 1
            numbered.append((1000 + self.numbers, self.waiting(wish)))
        self.step(name, release=[*given, *given[:1]], wishes=numbered)

    def waiting(self, wish: Wish) -> Wish:
        """Waits since a time that no other one has, whatever time the test takes."""
        return replace(wish, waited=wish.waited * 100_000_000 - self.numbers * 10_000) if wish.waited > 0 else wish

    @precondition(lambda self: self.names)
    @rule(pick=numbers, thorough=st.booleans(), lost=st.booleans())
    def beat(self, pick: int, thorough: bool, lost: bool) -> None:
        """The counts may have been lost meanwhile: a heartbeat puts them right."""
        if lost:
            self.shared.lose_counts()
        name = self.names[pick % len(self.names)]
        if self.step(name, what="audit" if thorough else "beat") is None and lost:
            self.come_back(pick, 0)

    @precondition(lambda self: len(self.eyes) > len(self.names))
    @rule(pick=numbers, asked=wishes)
    def speak_late(self, pick: int, asked: list[Wish]) -> None:
        """A command under a name that was given up changes nothing."""
        old = [name for name in self.eyes if name not in self.names]
        name = old[pick % len(old)]
        before = self.shared.totals()
        assert self.shared.step(name, self.eyes[name], wishes=[(1, wish) for wish in asked]) is None
        assert self.shared.totals() == before

    @rule()
    def restart(self) -> None:
        self.shared.restart()
        self.counts = Counts()

    @rule()
    def wait(self) -> None:
        self.shared.wait_long()
        self.counts.wait_long()

    def step(self, name: str, what: str = "step", **parts: Any) -> object:
        expected = self.counts.step(name, self.eyes[name], **parts)
        assert self.shared.step(name, self.eyes[name], what=what, **parts) == expected
        return expected

    @invariant()
    def the_server_holds_what_the_reference_holds(self) -> None:
        assert self.shared.totals() == self.counts.totals()
        assert self.shared.leases() == {
            name: {lease: f"{role[0]} {url}" for lease, (role, url) in leases.items()}
            for name, leases in self.counts.leases.items()
            if leases
        }

    def teardown(self) -> None:
        """Once everybody has given back all, or was forgotten, nothing is left."""
        for name in self.names:
            self.step(name, release=list(self.counts.leases.get(name, {})))
        self.enter({"speculative": (), "baseline": ()})
        self.step(self.names[-1], what="beat", forget=self.names[:-1])
        assert self.shared.totals() == {}
        assert self.shared.leases() == {}
        self.client.close()
