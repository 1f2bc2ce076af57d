"""Shared hardware: the load moves for a reason, and comes to rest."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gateway.routing.together import Together, choose


def moves(worths: list[tuple[float, float]], every: float = 0.2) -> int:
    state, now, count = Together(at=0.0), 0.0, 0
    for worth in worths:
        now += every
        before, state = state.role, choose(state, worth, now)
        count += state.role != before
    return count


def test_a_clear_gain_moves_it_within_seconds_and_it_stays() -> None:
    state, now = Together(at=0.0), 0.0
    while state.role == "speculative":
        now += 0.2
        state = choose(state, (100.0, 150.0), now)
    assert now < 5
    assert moves([(100.0, 150.0)] * 10_000) == 1


def test_a_small_gain_moves_it_late() -> None:
    assert moves([(100.0, 102.0)] * 100) == 0
    assert moves([(100.0, 102.0)] * 1000) == 1


def test_about_the_crossing_it_comes_to_rest() -> None:
    """An hour of load that hovers about the crossing, each pool better by up to a fifth for seconds at a time."""
    random, worths, gain = Random(1), [], 0.0
    for _ in range(18_000):
        gain += 0.1 * (random.gauss(0, 0.15) - gain)
        worths.append((100.0, 100.0 * (1 + gain)))
    assert moves(worths) <= 10


@given(st.lists(st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e4)), max_size=200))
def test_it_never_moves_to_and_fro_at_once(worths: list[tuple[float, float]]) -> None:
    state, now, moved = Together(at=0.0), 0.0, -1.0
    for worth in worths:
        now += 0.1
        before, state = state.role, choose(state, worth, now)
        if state.role != before:
            assert moved < 0 or now - moved > 1.0
            moved = now


def test_all_that_come_at_once_are_what_the_load_is() -> None:
    """Forty that end together and ask again: the first finds nobody there, but for three seconds there are forty."""
    state, now = Together(at=0.0), 0.0
    for _ in range(3):
        now += 3.0
        for count in range(1, 41):
            state = choose(state, (200.0 / count, 150.0 / count**0.5), now)
    assert state.role == "baseline"
