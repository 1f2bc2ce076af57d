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
