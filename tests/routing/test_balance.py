"""Within a pool: least in-flight, and equals by affinity alone."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.routing import digest, least_inflight
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
