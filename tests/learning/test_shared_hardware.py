"""Where pools share hardware, what was seen beside requests of the other pool says less of this one."""

import pytest

from gateway.learning import Learning, LearningSettings, Shares
from gateway.routing.grid import index
from tests.learning.serving import observation, serve, straight

PACE = straight(0.005, 0.001)
COUNTS = [2.0, 4.0, 8.0] * 10


def test_one_request_in_the_other_pool_does_not_set_the_speed_of_a_count_nor_of_all() -> None:
    """Twenty that run at half their speed beside it: two engines that take turns. Then twenty without it."""
    learning = Learning(LearningSettings(shared_hardware=True))
    end = serve(learning, "speculative", PACE, COUNTS, noise=0.02)
    for at, pace, beside in ((end + 5.0, 2 * PACE(20.0), 1.0), (end + 10.0, PACE(20.0), 0.0)):
        for _ in range(20):
            learning.observe("speculative", observation(at, 20.0, pace)._replace(beside=beside))
        for late in (1.0, 3.0):
            curve = learning.curves(at + late)[0]
        for count in (2, 4, 8):
            assert curve.rate(count) == pytest.approx(1 / PACE(count), rel=0.1)
    assert curve.rate(20) == pytest.approx(1 / PACE(20.0), rel=0.2)


def test_those_that_the_other_pool_was_beside_for_a_moment_count() -> None:
    learning = Learning(LearningSettings(shared_hardware=True))
    end = 0.0
    for count in COUNTS:
        end += 1.0
        learning.observe("speculative", observation(end, count - 0.1, PACE(count))._replace(beside=0.1))
    curve = learning.curves(end + 1.0)[0]
    for count in (2, 4, 8):
        assert curve.rate(count) == pytest.approx(1 / PACE(count), rel=0.05)
        assert curve.known[index(count)] > 2.0


def test_how_late_a_guest_begins_says_nothing_of_the_pool() -> None:
    """It has waited for the prompts of the other pool's, too."""
    learning = Learning(LearningSettings(shared_hardware=True))
    end = serve(learning, "speculative", PACE, COUNTS)
    before = learning.curves(end + 1.0)[0]
    for number in range(8):
        late = observation(end + number, 1.0, PACE(8.0))._replace(beside=7.0, ttft=3.0)
        learning.observe("speculative", late)
    after = learning.curves(end + 9.0)[0]
    assert (after.first, after.prefill) == (before.first, before.prefill)


def test_what_ran_beside_the_other_pool_is_not_told_as_if_it_had_not() -> None:
    """Who is told has the sums, and could not doubt them."""
    settings = LearningSettings(shared_hardware=True)
    teller, hearer = Shares(Learning(settings), "teller"), Shares(Learning(settings), "hearer")
    for one in (teller, hearer):
        end = serve(one.learning, "speculative", PACE, [*COUNTS, *[20.0] * 10], noise=0.02)
    hearer.take("teller", teller.report(end), 0.0, end)
    for at in (end + 5.0, end + 10.0, end + 15.0):
        for _ in range(20):
            teller.learning.observe("speculative", observation(at, 20.0, 2 * PACE(20.0))._replace(beside=1.0))
        teller.learning.curves(at + 1.0)
        hearer.take("teller", teller.report(at + 1.0), 0.0, at + 1.0)
        curve = hearer.learning.curves(at + 2.0)[0]
        for count in (2, 4, 8):
            assert curve.rate(count) == pytest.approx(1 / PACE(count), rel=0.1)


def test_a_peak_of_a_while_ago_is_still_one_that_was_seen() -> None:
    """Else each would be left to the threshold, and that is a change of mode."""
    learning = Learning(LearningSettings(shared_hardware=True))
    end = serve(learning, "baseline", PACE, [5.0] * 200, every=10.0)
    end = serve(learning, "baseline", PACE, [40.0] * 10, start=end)
    end = serve(learning, "baseline", PACE, [5.0] * 150, start=end, every=10.0)
    assert learning.curves(end + 1.0)[1].highest == pytest.approx(40.0)
