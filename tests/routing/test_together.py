"""Shared hardware: the load moves for a reason, and comes to rest."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import exact_curve
from gateway.routing import AdaptiveSettings, AdaptiveState, Arrival, Curve, decide
from gateway.routing.together import Together, choose
from tests.routing.loads import both, pool

EVERY = 0.2


def moves(worths: list[tuple[float, float]], every: float = EVERY) -> int:
    state, now, count = Together(at=0.0), 0.0, 0
    for worth in worths:
        now += every
        before, state = state.role, choose(state, worth, now, 5)
        count += state.role != before
    return count


def seconds_until_it_moves(state: Together, worth: tuple[float, float], count: int) -> tuple[float, Together]:
    began, role = state.at, state.role
    while state.role == role:
        state = choose(state, worth, state.at + EVERY, count)
    return state.at - began, state


def test_a_clear_gain_moves_it_within_seconds_and_it_stays() -> None:
    state, now = Together(at=0.0), 0.0
    while state.role == "speculative":
        now += 0.2
        state = choose(state, (100.0, 150.0), now, 5)
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


@given(st.lists(st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e4), st.integers(1, 4096)), max_size=200))
def test_it_never_moves_to_and_fro_at_once(asked: list[tuple[float, float, int]]) -> None:
    state, now, moved = Together(at=0.0), 0.0, -1.0
    for fast, plain, count in asked:
        now += 0.1
        before, state = state.role, choose(state, (fast, plain), now, count)
        if state.role != before:
            assert moved < 0 or now - moved > 1.0
            moved = now


def test_all_that_come_at_once_are_what_the_load_is() -> None:
    """Forty that end together and ask again: the first finds nobody there, but for three seconds there are forty."""
    state, now = Together(at=0.0), 0.0
    for _ in range(3):
        now += 3.0
        for count in range(1, 41):
            state = choose(state, (200.0 / count, 150.0 / count**0.5), now, count)
    assert state.role == "baseline"


def test_a_move_for_the_worse_is_taken_back_at_once_whatever_it_took() -> None:
    state = Together("baseline", strain=5.0, at=0.0)
    there, state = seconds_until_it_moves(state, (120.0, 100.0), 5)
    back, state = seconds_until_it_moves(state, (100.0, 120.0), 5)
    again, _ = seconds_until_it_moves(state, (120.0, 100.0), 5)
    assert there > 100
    assert back < 10
    assert again > 2 * there


def test_a_move_that_has_gained_what_it_took_is_taken_back_as_late() -> None:
    state = Together("baseline", strain=5.0, at=0.0)
    there, state = seconds_until_it_moves(state, (120.0, 100.0), 5)
    while not state.proven:
        state = choose(state, (120.0, 100.0), state.at + EVERY, 5)
    back, _ = seconds_until_it_moves(state, (100.0, 120.0), 5)
    assert back > there


def test_what_more_requests_than_usual_lose_counts_for_more() -> None:
    """A load of four that is forty for a while leaves the pool that is slower for forty before they have piled up."""
    state = Together("speculative", strain=5.0, at=0.0)
    for _ in range(1000):
        state = choose(state, (120.0, 100.0), state.at + EVERY, 4)
    many, _ = seconds_until_it_moves(state, (100.0, 120.0), 40)
    as_many, _ = seconds_until_it_moves(state, (100.0, 120.0), 4)
    assert many < as_many / 5


PLAIN = [(1, 40.0), (8, 10.0), (32, 4.0)]
SLOWER, UNLIKE = [(1, 35.0), (8, 3.9), (32, 1.0)], [(1, 35.0), (8, 9.0), (32, 1.0)]


@pytest.mark.parametrize(
    ("points", "usual", "tried"),
    [(SLOWER, 20.0, 1), (UNLIKE, 20.0, 42), (UNLIKE, 5.0, 1)],
    ids=["slower with fewer already", "not seen with so many", "more than usual"],
)
def test_the_whole_load_is_sent_only_where_that_can_tell_something(
    points: list[tuple[float, float]], usual: float, tried: int
) -> None:
    """Of a pool that was seen with eight at most and long ago, what twenty there find out; else a single one looks."""
    seen = exact_curve(points, 0.8, 1000.0)
    known = tuple(1.0 if node < 8 else 0.0 for node in range(len(seen.known)))
    speculative, baseline = seen._replace(known=known), exact_curve(PLAIN, 0.8)
    assert explored(speculative, baseline, Together("baseline", at=1020.0, usual=usual, held=usual)) == tried


def explored(speculative: Curve, baseline: Curve, joint: Together) -> int:
    """How many requests in a row are sent to explore, of a hundred that come while there are nineteen."""
    state, settings = AdaptiveState(trusted=True, together=joint), AdaptiveSettings(shared_hardware=True)
    found = []
    for number in range(100):
        now = 1020.0 + 0.01 * number
        decision, state = decide(
            both(pool(0), pool(19)), speculative, baseline, state, settings, Arrival(now, 0.1, 10.0)
        )
        found.append(decision.mode == "exploring")
    return found.index(False)


def test_what_is_usual_is_kept_while_the_curves_are_not_believed() -> None:
    """A peak that is left to the threshold does not become the usual."""
    curve, settings = exact_curve(PLAIN, 0.8), AdaptiveSettings(shared_hardware=True)
    before = Together("baseline", at=1019.0, usual=4.0, held=4.0, strain=2.0, moved=1018.0)
    decision, state = decide(
        both(pool(0), pool(19)),
        curve,
        curve._replace(spread=9.0),
        AdaptiveState(together=before),
        settings,
        Arrival(1020.0, 0.9, 10.0),
    )
    assert decision.mode == "contradicting"
    assert (state.together.usual, state.together.strain, state.together.moved) == (4.0, 2.0, 1018.0)
