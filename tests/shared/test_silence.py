"""Whom the script forgets: who was silent while others were heard."""

from collections.abc import Iterator

import pytest

from gateway.config import ThresholdPolicy
from tests.shared.reference import Engine, Eyes, Wish
from tests.shared.scripted import EXPIRY, Shared
from tests.support.redis import RedisServer

EYES = Eyes(
    ThresholdPolicy(threshold=2),
    {"speculative": (Engine("http://s:1"),), "baseline": (Engine("http://b:1"),)},
    {"speculative": 9, "baseline": 9},
)
ALL = {"s": 2, "s http://s:1": 2}


@pytest.fixture
def shared(redis: RedisServer) -> Iterator[Shared]:
    """Two gateways with a request each, which fill the pool."""
    with redis.client() as client:
        made = Shared(client)
        for number, name in enumerate(("a.1", "b.1")):
            made.enter(name)
            made.step(name, EYES, what="beat", wishes=[(number, Wish())])
        assert made.totals() == ALL
        yield made


def test_who_is_silent_while_another_is_heard(shared: Shared) -> None:
    for _ in range(4):
        shared.pass_time(EXPIRY * 0.3)
        shared.step("a.1", EYES, what="beat")
    assert shared.remembered() == {"a.1"}
    assert shared.totals() == {"s": 1, "s http://s:1": 1}
    assert shared.step("b.1", EYES, wishes=[(7, Wish())]) is None


def test_a_step_forgets_too(shared: Shared) -> None:
    for _ in range(3):
        shared.pass_time(EXPIRY * 0.3)
        shared.step("a.1", EYES, what="beat")
    shared.pass_time(EXPIRY * 0.2)
    shared.step("a.1", EYES)
    assert shared.remembered() == {"a.1"}


@pytest.mark.parametrize("seconds", [EXPIRY * 0.9, EXPIRY * 1.1, EXPIRY * 100])
@pytest.mark.parametrize("what", ["step", "beat", "audit"])
def test_all_were_silent_as_redis_was_away(shared: Shared, what: str, seconds: float) -> None:
    """Or a failover brought another clock: neither the one that speaks first nor the others are forgotten."""
    shared.pass_time(seconds)
    [(_, url)] = shared.step("a.1", EYES, what=what, wishes=[(7, Wish())]) or []
    assert url == "http://b:1"
    assert shared.remembered() == {"a.1", "b.1"}
    assert shared.totals() == {**ALL, "b": 1, "b http://b:1": 1}


def test_who_comes_back_first_does_not_have_the_others_forgotten(shared: Shared) -> None:
    shared.pass_time(EXPIRY * 2)
    shared.enter("a.2")
    shared.step("a.2", EYES, what="beat", forget=["a.1"], adopt={0: ("speculative", "http://s:1")})
    assert shared.remembered() == {"a.2", "b.1"}
    assert shared.totals() == ALL


def test_the_dead_are_forgotten_however_seldom_anyone_is_heard(shared: Shared) -> None:
    for _ in range(4):
        shared.pass_time(EXPIRY * 0.99)
        assert shared.step("a.1", EYES, what="beat") is not None
    assert shared.remembered() == {"a.1"}
    assert shared.totals() == {"s": 1, "s http://s:1": 1}


def test_who_has_several_names_is_one_gateway(shared: Shared) -> None:
    """As each tries to come back while Redis is slow: shares are divided by how many there are."""
    for name in ("a.2", "a.3", "b.10"):
        shared.enter(name)
    shared.step("a.1", EYES, what="beat")
    assert shared.remembered() == {"a.1", "a.2", "a.3", "b.1", "b.10"}
    assert shared.gateways == 2
