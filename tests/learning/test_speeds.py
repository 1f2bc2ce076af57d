"""What a speed moves does not depend on whether it comes alone."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning.evidence import Speed
from gateway.learning.speeds import Speeds
from tests.learning.serving import straight

PACE = straight(0.005, 0.001)
COUNTS = [2.0, 4.0, 8.0, 16.0]
UNSEEN = 4000.0

speeds = st.builds(
    lambda later, inflight, tokens, factor, requests: Speed(
        later, inflight, tokens, tokens * PACE(inflight) * factor, False, requests
    ),
    st.floats(0.0, 20.0),
    st.floats(1.0, 30.0),
    st.floats(8.0, 2000.0),
    st.floats(0.02, 50.0),
    st.sampled_from([1.0, 0.3, 20.0]),
)


def known(*, shared: bool = False) -> Speeds:
    """Until the 20th second."""
    learned = Speeds(300.0, shared=shared)
    for number, count in enumerate(COUNTS * 50):
        learned.learn([Speed(0.1 * number, count, 200.0, 200.0 * PACE(count))])
    learned.fit()
    return learned


@given(st.lists(speeds, min_size=1, max_size=20))
def test_one_alone_is_learned_from_as_beside_one_that_says_nothing_of_the_level(seen: list[Speed]) -> None:
    """As nobody has seen so many in flight before, and on shared hardware nothing is guessed."""
    alone, beside, at = known(shared=True), known(shared=True), 20.0
    for speed in seen:
        at += speed.at
        one = speed._replace(at=at)
        alone.learn([one])
        beside.learn([Speed(at, UNSEEN, 200.0, 200.0 * PACE(UNSEEN)), one])
    assert beside.level.value == pytest.approx(alone.level.value, rel=1e-6, abs=1e-9)
    assert beside.level.steady == pytest.approx(alone.level.steady, rel=1e-6)
    assert beside.level.noise == pytest.approx(alone.level.noise, rel=1e-6)
    points = [point for point in beside.shape.sketch.points() if point.inflight < UNSEEN / 2]
    assert [point[:3] for point in points] == [
        pytest.approx(point[:3], rel=1e-6) for point in alone.shape.sketch.points()
    ]


def followed() -> Speeds:
    """Until the 23rd second, and no faster or slower than it was."""
    learned = known()
    for at in (20.0, 21.0, 22.0, 23.0):
        learned.learn([Speed(at, 4.0, 200.0, 200.0 * PACE(4.0))])
    return learned


@given(st.floats(5.0, 20.0), st.floats(2.0, 10.0), st.floats(0.4, 0.95) | st.floats(1.05, 2.5))
def test_the_longer_an_answer_took_the_less_it_says_of_now(tokens: float, times: float, factor: float) -> None:
    """It was seen through what there was before a change, too."""
    short, long = followed(), followed()
    seconds = tokens * 100.0 * PACE(4.0) * factor
    short.learn([Speed(24.0, 4.0, tokens * 100.0, seconds)])
    long.learn([Speed(24.0, 4.0, times * tokens * 100.0, times * seconds)])
    assert 0.0 < long.level.value / log(1.0 / factor) < short.level.value / log(1.0 / factor)


def test_answers_from_before_a_change_hardly_undo_what_those_from_after_it_say() -> None:
    """Acceptance rises by 1.7. Answers of three seconds show it, then one of 200 ends that was at the old for 190."""
    learned = followed()
    for number in range(6):
        at = 24.0 + number
        learned.learn([Speed(at, 4.0, 3.0 * 1.7 / PACE(4.0), 3.0)])
    risen = learned.level.value
    assert risen == pytest.approx(log(1.7), abs=0.1)
    learned.learn([Speed(30.0, 4.0, (190.0 + 10.0 * 1.7) / PACE(4.0), 200.0)])
    assert learned.level.value > 0.85 * risen
