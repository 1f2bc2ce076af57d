"""Many replicas share the turns to be probed; few never wait."""

from gateway.pools.pace import Pace
from tests.models.fleet import Clock


def test_few_do_not_wait() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(100):
        assert pace.further() == 0
        assert pace.first() == 0
        clock.now += 0.011


def test_many_take_turns() -> None:
    pace = Pace(Clock())
    waits = [pace.further() for _ in range(5000)]
    assert waits == sorted(waits)
    assert 49 < waits[-1] < 51


def test_a_newcomer_does_not_wait_for_those_that_were_there() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(5000):
        pace.further()
    assert pace.first() == 0


def test_turns_that_nobody_took_are_not_saved_up() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.first()
    clock.now += 1000
    assert [pace.first() > 0 for _ in range(3)] == [False, True, True]
