"""A change of a pool's speed is followed at all counts, from a few requests at one of them."""

import pytest

from gateway.learning import Learning, LearningSettings
from tests.learning.serving import observation, serve, straight

PACE, SLOWER = straight(0.005, 0.001), straight(0.005 / 0.59, 0.001 / 0.59)
COUNTS = [2.0, 4.0, 8.0, 16.0] * 25


def test_a_fall_is_followed_within_a_few_requests_at_all_counts() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.1)
    end = serve(learning, "speculative", SLOWER, [4.0] * 6, start=end, noise=0.1)
    curve = learning.curves(end + 1)[0]
    for count in (2, 4, 8, 16):
        assert curve.rate(count) == pytest.approx(1 / SLOWER(count), rel=0.2)


def test_after_a_silence_one_request_moves_it() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", SLOWER, COUNTS, noise=0.1)
    end = serve(learning, "speculative", PACE, [2.0], start=end + 60, noise=0.1)
    assert learning.curves(end + 1)[0].rate(2) > 0.75 / PACE(2)


def test_noise_does_not_move_it() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS * 10, noise=0.25)
    curve = learning.curves(end + 1)[0]
    for count in (2, 4, 8, 16):
        assert curve.rate(count) == pytest.approx(1 / PACE(count), rel=0.15)


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_change_that_many_answers_show_and_no_two_do_is_followed(seed: int) -> None:
    """As where edits of code run at 36 to 135 tokens per second, by their prompts, and prose at 60."""
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.35, seed=seed)
    assert learning.curves(end + 1)[0].rate(4) * PACE(4) == pytest.approx(1.0, rel=0.25)
    end = serve(learning, "speculative", SLOWER, [4.0] * 40, start=end, noise=0.15, seed=seed)
    assert learning.curves(end + 1)[0].rate(4) * PACE(4) == pytest.approx(0.59, rel=0.2)
    end = serve(learning, "speculative", PACE, [4.0] * 40, start=end, noise=0.35, seed=seed)
    assert learning.curves(end + 1)[0].rate(4) * PACE(4) == pytest.approx(1.0, rel=0.25)


def test_evidence_that_contradicts_itself_shows_in_the_spread() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.1)
    assert learning.curves(end + 1)[0].spread < 0.2
    end = serve(learning, "speculative", PACE, COUNTS, start=end, noise=1.2)
    assert learning.curves(end + 1)[0].spread > 0.7


def test_a_guest_on_shared_hardware_moves_the_level_and_not_the_shape() -> None:
    learning = Learning(LearningSettings(shared_hardware=True))
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.05)
    before = learning.curves(end + 1)[0]
    pool = learning.pools["speculative"]
    for number in range(12):
        pace = SLOWER if number >= 8 else PACE
        at = end + 10 * number + 10
        tokens = 256
        learning.observe("speculative", observation(at, 1.0, 3 * pace(1.0), tokens=tokens)._replace(beside=7.0))
        learning.curves(at)
    after = learning.curves(at + 1)[0]
    assert pool.level.factor == pytest.approx(0.59, rel=0.15)
    assert after.rate(8) == pytest.approx(0.59 * before.rate(8), rel=0.2)
    assert after.requests == before.requests


def test_a_short_answer_that_was_held_up_does_not_move_it() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.05)
    before = learning.pools["speculative"].level.factor
    learning.observe("speculative", observation(end + 1, 8.0, 1.35 * PACE(8.0), tokens=10))
    assert learning.pools["speculative"].level.factor == pytest.approx(before, rel=0.02)


def test_one_answer_that_was_held_up_is_not_taken_for_a_change() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.02)
    before = learning.pools["speculative"].level.factor
    learning.observe("speculative", observation(end + 1, 8.0, 1.3 * PACE(8.0)))
    assert learning.pools["speculative"].level.factor == pytest.approx(before, rel=0.05)


def test_slow_first_requests_do_not_set_the_speed_of_their_count() -> None:
    """A start with many at once: the first to end are short, and slow, as the others' prompts came between."""
    learning = Learning(LearningSettings())
    for number in range(6):
        learning.observe("speculative", observation(0.1 * number, 15.0, 1.5 * PACE(15.0), tokens=12 + number))
        learning.curves(float(number))
    end = serve(learning, "speculative", PACE, [15.0] * 15, start=10.0)
    serve(learning, "speculative", PACE, [12.0] * 40, start=end)
    assert learning.curves(end + 60)[0].rate(15) == pytest.approx(1 / PACE(15), rel=0.06)


def test_where_little_was_seen_the_curve_mends_and_not_the_level() -> None:
    """Four slow requests at a count that was new say nothing of the speed at the others."""
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.05)
    end = serve(learning, "speculative", straight(0.008, 0.001), [40.0] * 5, start=end)
    serve(learning, "speculative", PACE, [40.0] * 5, start=end)
    assert learning.pools["speculative"].level.factor == pytest.approx(1.0, abs=0.1)
    assert learning.curves(end + 60)[0].rate(8) == pytest.approx(1 / PACE(8), rel=0.1)


def test_a_burst_at_counts_that_were_guessed_does_not_move_it() -> None:
    """What a curve was before a burst is no measure at counts that it had not seen, however many come at once."""
    learning = Learning(LearningSettings())
    flat, end = straight(0.005, 0.00002), serve(learning, "speculative", PACE, [1.0] * 10)
    for number in range(60):
        learning.observe("speculative", observation(end + 1 + 0.01 * number, 40.0, flat(40.0)))
    end = serve(learning, "speculative", flat, [40.0] * 40, start=end + 2, noise=0.02)
    curve = learning.curves(end + 1)[0]
    assert learning.pools["speculative"].level.factor == pytest.approx(1.0, abs=0.05)
    assert curve.rate(1) == pytest.approx(1 / PACE(1), rel=0.1)
    assert curve.rate(40) == pytest.approx(1 / flat(40), rel=0.1)


@pytest.mark.parametrize("order", [1, -1])
def test_many_that_end_together_count_by_their_mean(order: int) -> None:
    """Of those that began together, the first to have a token waited for the others' prompts, and end with them."""
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS + [100.0] * 40, noise=0.05)
    before = learning.pools["speculative"].level.value
    for _ in range(4):
        end += 20.0
        for number in range(-50, 50)[::order]:
            learning.observe("speculative", observation(end, 100.0, PACE(100.0) * (1 + 0.004 * number)))
        learning.curves(end)
    assert learning.pools["speculative"].level.value == pytest.approx(before, abs=0.04)


def test_a_change_shows_at_once_where_hundreds_end_every_second() -> None:
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, [100.0] * 400, every=0.005, noise=0.2)
    end = serve(learning, "speculative", SLOWER, [100.0] * 200, start=end, every=0.005, noise=0.2)
    assert learning.curves(end + 1)[0].rate(100) == pytest.approx(1 / SLOWER(100), rel=0.1)


@pytest.mark.parametrize("times", [1 / 1.7, 1.7])
@pytest.mark.parametrize("counts", [(5.0, 6.0), (14.0, 16.0)])
def test_a_change_is_followed_while_the_division_moves_on_to_counts_not_seen(
    counts: tuple[float, float], times: float
) -> None:
    """What the curve says of them from others' is a guess, but a better one than that all of it is their own."""
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, [9.0, 10.0] * 60, noise=0.05)
    changed = straight(0.005 / times, 0.001 / times)
    end = serve(learning, "speculative", changed, list(counts) * 10, start=end, noise=0.05)
    curve = learning.curves(end + 1)[0]
    assert curve.rate(10) == pytest.approx(1 / changed(10), rel=0.25)


def test_a_hundred_at_once_at_a_count_not_seen_are_no_change_of_the_rest() -> None:
    """The engine is three times slower there than by what it does with few: its curve has a step."""
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.05)
    for number in range(100):
        learning.observe("speculative", observation(end + 0.003 * number, 100.0, 3 * PACE(100.0)))
    curve = learning.curves(end + 1)[0]
    assert curve.rate(4) == pytest.approx(1 / PACE(4.0), rel=0.1)
    assert curve.rate(100) == pytest.approx(1 / (3 * PACE(100.0)), rel=0.15)


@pytest.mark.parametrize("steep", [0.0, 1.0])
def test_a_load_that_is_another_by_far_is_no_change_of_the_rest(steep: float) -> None:
    """Two at a time for long, then twenty: whatever the engine does with twenty, one a second tells of twenty only."""
    learning = Learning(LearningSettings())
    end = serve(learning, "speculative", lambda _: 0.01, [2.0] * 140, noise=0.05)
    serve(learning, "speculative", lambda count: 0.01 * (count / 2.0) ** steep, [20.0] * 60, start=end, noise=0.05)
    curve = learning.curves(end + 61)[0]
    assert curve.rate(2) == pytest.approx(100.0, rel=0.1)
    assert curve.rate(20) == pytest.approx(100.0 / 10.0**steep, rel=0.15)
