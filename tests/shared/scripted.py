"""The script on a real server, asked as gateways ask it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from gateway.load.shared.command import pack
from gateway.load.shared.step import TEXT, Script, Terms, View, key_base, member
from gateway.models.placing import terms
from gateway.routing import ROLES, Choice, Placement, Role
from tests.shared.reference import Eyes, Place, Wish, table_for

MODEL = "m"
BASE = key_base("spillway", MODEL)
EXPIRY = 3600.0  # seconds: nobody is forgotten but by `silence`
PATIENCE = 3600.0  # seconds: who waits does so until it has a place, or its gateway is forgotten


@dataclass
class Asked:
    lease: int
    test: str
    letters: str
    affinity: int
    waited: int
    tried: Sequence[str]
    choices: tuple[Placement, ...] = field(default=())


class Shared:
    """The counts of one model on a server. `gateways`: as the last beat counted them."""

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client
        client.flushall()
        client.script_load(TEXT)
        self._published: dict[str, Eyes] = {}
        self.gateways = 0

    def enter(self, name: str) -> None:
        self._client.execute_command(*Script("spillway", MODEL, name, EXPIRY).hello())
        self._published.pop(name, None)

    def step(
        self,
        name: str,
        eyes: Eyes,
        *,
        what: str = "step",
        forget: Sequence[str] = (),
        adopt: Mapping[int, tuple[Role, str]] | None = None,
        release: Sequence[int] = (),
        wishes: Sequence[tuple[int, Wish]] = (),
    ) -> list[Place] | None:
        """One step of a gateway; None if it is unknown."""
        known = self._published.get(name)
        asks = [_asked(eyes, lease, wish) for lease, wish in wishes]
        places: list[Place] = []
        # A request for which no case has a place is never sent.
        sent = [ask for ask in asks if any(isinstance(choice, Choice) for choice in ask.choices)]
        script, terms = Script("spillway", MODEL, name, EXPIRY, PATIENCE), _terms(eyes)
        command = script.step(
            what,
            terms,
            forget=forget,
            adopt={lease: f"{role[0]} {url}" for lease, (role, url) in (adopt or {}).items()},
            views=None if known == eyes else _views(eyes),
            release=release,
            asks=sent,
        )
        if what == "step" and known == eyes and not (forget or adopt):
            # Twice, as what such steps begin with is packed once.
            assert {script.brief(terms, release, sent) for _ in range(2)} == {pack(command)}
        reply: Any = self._client.execute_command(*command)
        if reply == ["unknown"]:
            return None
        self._published[name] = eyes
        self.gateways = int(reply[4]) or self.gateways
        answers = iter(reply[5])
        for ask in asks:
            if ask in sent:
                case, url = next(answers), next(answers)
                places.append((ask.choices[case], url))
            else:
                places.append((ask.choices[0], ""))
        return places

    def silence(self, name: str) -> None:
        """The time until which it counts is over."""
        if self._client.zscore(f"{BASE}:gateways", name) is not None:
            self._client.zadd(f"{BASE}:gateways", {name: 1})

    def pass_time(self, seconds: float) -> None:
        """As gateways are remembered, so much later."""
        for name in self.remembered():
            self._client.zincrby(f"{BASE}:gateways", -1000 * seconds, name)

    def remembered(self) -> set[str]:
        names: Any = self._client.zrange(f"{BASE}:gateways", 0, -1)
        return set(names)

    def wait_long(self) -> None:
        """Whatever waits for time to pass has waited long enough."""
        for name in ("since", "alone_since"):
            if self._client.hget(f"{BASE}:switch", name):
                self._client.hset(f"{BASE}:switch", name, 1)

    def restart(self) -> None:
        """All is lost, the script too."""
        self._client.flushall()
        self._client.script_flush()
        self._client.script_load(TEXT)
        self._published.clear()

    def lose_counts(self) -> None:
        """As eviction does."""
        self._client.delete(f"{BASE}:counts")

    def totals(self) -> dict[str, int]:
        counts: Any = self._client.hgetall(f"{BASE}:counts")
        return {name: int(count) for name, count in counts.items()}

    def leases(self) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for key in self._client.scan_iter(f"{BASE}:leases:*"):
            leases: Any = self._client.hgetall(key)
            found[key.rpartition(":")[2]] = {int(lease): where for lease, where in leases.items()}
        return found


def _terms(eyes: Eyes) -> Terms:
    caps = [eyes.caps[role] if eyes.engines[role] is not None else 0 for role in ROLES]
    outside = [sum(engine.outside for engine in eyes.engines[role] or ()) for role in ROLES]
    return terms(eyes.policy, len(eyes.engines["speculative"] or ()), caps, outside, both=eyes.both)


def _views(eyes: Eyes) -> tuple[View, View]:
    first, second = (
        [item for engine in eyes.engines[role] or () for item in (member(engine.url, engine.outside), engine.digest)]
        for role in ROLES
    )
    return first, second


def _asked(eyes: Eyes, lease: int, wish: Wish) -> Asked:
    made = table_for(eyes, wish)
    tried = [f"{role[0]} {url}" for role, url in sorted(wish.tried)]
    return Asked(lease, made.test, made.letters, wish.affinity, wish.waited, tried, made.choices)
