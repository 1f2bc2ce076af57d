"""Within a pool: least in-flight, and equals by affinity alone."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.routing import balanced, digest, least_inflight
from gateway.routing.balance import EXACT
from tests.routing.loads import Engine, engines

affinities = st.integers(0, 2**32 - 1)


def fleet(count: int, inflight: int = 0) -> list[Engine]:
    """Replicas as they are in practice: addresses that differ in a digit."""
    return [Engine(url, digest(url.encode()), inflight) for url in (f"http://10.0.0.{n}:30000" for n in range(count))]


def test_none_of_none() -> None:
    nobody: list[Engine] = []
    assert least_inflight(nobody, 7) is None


@given(engines(), affinities)
def test_the_least_loaded(candidates: Sequence[Engine], affinity: int) -> None:
    chosen = least_inflight(candidates, affinity)
    assert chosen is not None
    assert chosen.inflight == min(engine.inflight for engine in candidates)


@given(engines(), affinities, st.randoms())
def test_order_does_not_matter(candidates: Sequence[Engine], affinity: int, dice: random.Random) -> None:
    shuffled = list(candidates)
    dice.shuffle(shuffled)
    assert least_inflight(shuffled, affinity) == least_inflight(candidates, affinity)


@given(engines(), affinities, st.data())
def test_the_excluded_are_as_if_absent(candidates: Sequence[Engine], affinity: int, data: st.DataObject) -> None:
    excluded = data.draw(st.lists(st.sampled_from(candidates), unique=True))
    left = [engine for engine in candidates if engine not in excluded]
    assert least_inflight(candidates, affinity, excluded) == least_inflight(left, affinity)


@given(engines(least=2), affinities, st.data())
def test_a_removal_moves_only_who_was_there(candidates: Sequence[Engine], affinity: int, data: st.DataObject) -> None:
    """Rendezvous: another replica's going or coming does not move a conversation that it did not have."""
    equals = [replace(engine, inflight=0) for engine in candidates]
    gone = data.draw(st.sampled_from(equals))
    before = least_inflight(equals, affinity)
    after = least_inflight([engine for engine in equals if engine is not gone], affinity)
    if before is not gone:
        assert after is before


@pytest.mark.parametrize("count", [2, 3, 8])
def test_conversations_spread(count: int) -> None:
    """Over replicas whose addresses are alike, and keys that are."""
    candidates = fleet(count)
    shares: Counter[str] = Counter()
    for number in range(4000):
        chosen = least_inflight(candidates, digest(b'[{"role":"user","content":"question %d"' % number))
        assert chosen is not None
        shares[chosen.name] += 1
    assert min(shares[engine.name] for engine in candidates) > 4000 / count * 0.8


def test_the_digest_is_stable() -> None:
    """It decides which replica holds a conversation's cache, across restarts and gateways."""
    assert digest(b"http://10.0.0.1:30000") == 0x8B406264


def ring(count: int, inflight: int = 0) -> list[Engine]:
    """As a pool keeps its ready replicas."""
    return sorted(fleet(count, inflight), key=lambda engine: engine.digest)


@given(engines(), affinities, st.integers(0, 99), st.integers(1, 9), st.data())
def test_of_few_all_are_looked_at(
    candidates: Sequence[Engine], affinity: int, inflight: int, ceiling: int, data: st.DataObject
) -> None:
    excluded = data.draw(st.lists(st.sampled_from(candidates), unique=True))
    chosen = balanced(candidates, affinity, inflight, ceiling, excluded)
    assert chosen == least_inflight(candidates, affinity, excluded)


@given(st.integers(EXACT - 1, 300), affinities, st.data())
def test_of_many_one_with_room_is_found(count: int, affinity: int, data: st.DataObject) -> None:
    """However few have any, and whoever is excluded."""
    full = ring(count, inflight=3)
    free = set(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=5)))
    candidates = [replace(engine, inflight=1) if at in free else engine for at, engine in enumerate(full)]
    excluded = data.draw(st.lists(st.sampled_from(candidates), max_size=3, unique=True))
    total = sum(engine.inflight for engine in candidates)
    chosen = balanced(candidates, affinity, total, 3, excluded)
    assert chosen is not None
    assert chosen not in excluded
    if any(engine.inflight < 3 and engine not in excluded for engine in candidates):
        assert chosen.inflight < 3


def test_of_many_all_excluded() -> None:
    candidates = ring(100)
    assert balanced(candidates, 1, 0, 3, candidates) is None
    assert balanced(candidates, 1, 0, 3, candidates[1:]) is candidates[0]


def test_of_many_a_removal_moves_hardly_anybody() -> None:
    """Those it had, and the few that a neighbour new to them attracts."""
    candidates = ring(200)
    keys = [digest(b"%d" % number) for number in range(2000)]
    before = {key: balanced(candidates, key, 0, 3) for key in keys}
    gone = candidates[100]
    left = [engine for engine in candidates if engine is not gone]
    moved = [key for key in keys if before[key] is not gone and balanced(left, key, 0, 3) is not before[key]]
    assert len(moved) <= 40


def test_of_many_the_load_stays_even() -> None:
    """Placed one by one, with no more than one in two from the same conversation: nobody gets far above the mean."""
    load = dict.fromkeys(ring(300), 0)
    for number in range(3000):
        candidates = [replace(engine, inflight=held) for engine, held in load.items()]
        affinity = 7 if number % 2 else digest(b"%d" % number)
        chosen = balanced(candidates, affinity, number, 128)
        assert chosen is not None
        load[replace(chosen, inflight=0)] += 1
    assert max(load.values()) <= 12
