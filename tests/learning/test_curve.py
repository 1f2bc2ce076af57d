"""A pool's curve follows what its requests saw, and is monotone whatever they saw."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import Learning, LearningSettings, Observation, exact_curve
from gateway.routing import NODES, Curve, gains
from tests.learning.serving import Pace, observation, serve, straight

PACE = straight(0.005, 0.001)


def speculative(learning: Learning, now: float = 1e9) -> Curve:
    return learning.curves(now)[0]


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """Anything that a request can report."""
    return Observation(
        at=draw(st.floats(0, 1e5)),
        tokens=draw(st.integers(0, 10_000)),
        seconds=draw(st.floats(0, 1e4)),
        inflight=draw(st.floats(0, 5000)),
        events=draw(st.integers(0, 10_000)),
        prompt_tokens=draw(st.integers(0, 10**6)),
        ttft=draw(st.none() | st.floats(0, 600)),
        waiting=draw(st.floats(0, 1e7)),
        beside=draw(st.floats(0, 100)),
        finished=draw(st.booleans()),
    )


@given(st.lists(observations(), max_size=60), st.booleans(), st.floats(0, 1))
def test_curves_are_monotone_whatever_was_seen(seen: list[Observation], shared: bool, weight: float) -> None:
    learning = Learning(LearningSettings(weight=weight, shared_hardware=shared))
    for number, one in enumerate(seen):
        learning.observe("speculative", one)
        curve = speculative(learning, float(number))
        assert all(before >= after >= 0 for before, after in pairwise(curve.rates))
        assert all(before >= after for before, after in pairwise(curve.gains))
        assert curve.first >= 0
        assert curve.prefill >= 0


@given(
    st.lists(st.tuples(st.integers(1, 200), st.floats(1, 1000)), min_size=1, max_size=8, unique_by=lambda one: one[0]),
    st.floats(0, 1),
)
def test_worth_adds_up_to_what_it_stands_for(points: list[tuple[int, float]], weight: float) -> None:
    ordered = sorted(points)
    rates = exact_curve(
        [(count, min(rate for _, rate in ordered[: at + 1])) for at, (count, rate) in enumerate(ordered)], 0.0
    ).rates
    worth = gains(rates, 1.0)
    total = worth[0] + sum(worth[at] * (NODES[at] - NODES[at - 1]) for at in range(1, len(NODES)))
    assert total == pytest.approx(NODES[-1] * rates[-1])
    assert gains(rates, weight)[0] == pytest.approx(rates[0], rel=0.5) or weight < 1


def test_it_is_right_where_it_was_seen() -> None:
    learning = Learning(LearningSettings())
    serve(learning, "speculative", PACE, [1.0, 2.0, 4.0, 8.0, 16.0] * 20, noise=0.1)
    curve = speculative(learning)
    for count in (1, 2, 4, 8, 16):
        assert curve.rate(count) == pytest.approx(1 / PACE(count), rel=0.1)
    assert curve.requests == 100


def test_it_goes_on_beyond_what_was_seen() -> None:
    learning = Learning(LearningSettings())
    serve(learning, "speculative", PACE, [2.0, 4.0, 8.0] * 20)
    curve = speculative(learning)
    assert curve.rate(1) == pytest.approx(1 / PACE(1), rel=0.1)
    assert curve.rate(32) == pytest.approx(1 / PACE(32), rel=0.1)
    assert curve.known[NODES.index(32)] == 0


@pytest.mark.parametrize("lengths", [[16, 2048], [256]], ids=["mixed", "equal"])
@pytest.mark.parametrize("per_event", [1.0, 2.2, 5.0])
def test_lengths_and_tokens_per_event_do_not_matter(lengths: list[int], per_event: float) -> None:
    learning = Learning(LearningSettings())
    for number in range(60):
        tokens = lengths[number % len(lengths)]
        learning.observe("speculative", observation(float(number), 4.0, PACE(4.0), tokens=tokens, per_event=per_event))
    assert speculative(learning).rate(4) == pytest.approx(1 / PACE(4), rel=0.05)


def test_what_says_nothing_of_a_rate_is_left_out() -> None:
    learning = Learning(LearningSettings())
    learning.observe("speculative", Observation(1.0, 3, 0.1, 1.0, ttft=0.1))
    learning.observe("speculative", Observation(2.0, 300, 0.001, 1.0, ttft=0.1))
    learning.observe("speculative", Observation(3.0, 0, 5.0, 1.0, ttft=0.1, finished=False))
    assert speculative(learning).requests == 0


def test_a_whole_body_counts_less_its_wait_for_the_first_token() -> None:
    learning = Learning(LearningSettings())
    for number in range(20):
        learning.observe("speculative", observation(float(number), 1.0, 0.01)._replace(ttft=0.5))
        learning.curves(float(number) + 1.0)
    whole = Observation(30.0, 100, 0.5 + 1.0, 1.0, waiting=200.0)
    for _ in range(200):
        learning.observe("speculative", whole)
    assert speculative(learning).rate(1) == pytest.approx(100, rel=0.05)


def test_old_evidence_fades() -> None:
    learning = Learning(LearningSettings(half_life=10.0))
    end = serve(learning, "speculative", straight(0.005, 0.0), [1.0] * 50)
    serve(learning, "speculative", straight(0.006, 0.0), [1.0] * 60, start=end)
    assert speculative(learning).rate(1) == pytest.approx(1 / 0.006, rel=0.03)


def test_first_tokens_are_learned_by_waiting_prompt_tokens() -> None:
    learning = Learning(LearningSettings())
    for number in range(50):
        waiting = 100.0 * (1 + number % 7)
        seen = observation(float(number), 2.0, 0.01)._replace(ttft=0.05 + 0.001 * waiting, waiting=waiting)
        learning.observe("speculative", seen)
    curve = speculative(learning)
    assert curve.first == pytest.approx(0.05, rel=0.05)
    assert curve.prefill == pytest.approx(0.001, rel=0.05)


def test_known_points_are_taken_for_observed() -> None:
    learning = Learning(LearningSettings())
    learning.prior("speculative", [(1, 200.0), (10, 100.0)], 5.0)
    curve = speculative(learning)
    assert curve.rate(1) == pytest.approx(200, rel=0.2)
    assert curve.rate(10) == pytest.approx(100, rel=0.2)
    assert (curve.requests, curve.newest) == (4, 5.0)


def test_what_was_learned_can_be_carried_on() -> None:
    learning, other = Learning(LearningSettings()), Learning(LearningSettings())
    end = serve(learning, "speculative", PACE, [1.0, 5.0, 12.0] * 30, noise=0.1)
    serve(learning, "baseline", straight(0.006, 0.0005), [1.0, 7.0] * 10, noise=0.1)
    other.load(json.loads(json.dumps(learning.dump())))
    for mine, theirs in zip(learning.curves(end + 1), other.curves(end + 1), strict=True):
        assert theirs.rates == pytest.approx(mine.rates, rel=1e-6)
        assert (theirs.requests, theirs.newest) == (mine.requests, mine.newest)


@pytest.mark.parametrize("pace", [straight(0.05, 0.0001), straight(0.001, 0.001)], ids=["flat", "steep"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_few_more_or_less_at_one_count_tell_how_steep_it_is(pace: Pace, noise: float) -> None:
    """All near one node: what is one more worth there?"""
    learning = Learning(LearningSettings())
    serve(learning, "speculative", pace, [61.0, 63.0, 66.0, 68.0] * 200, every=0.2, noise=noise)
    curve = speculative(learning)
    for count in (56, 64, 72, 80):
        assert curve.rate(count) == pytest.approx(1 / pace(count), rel=0.02 + noise)


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("pace", [straight(0.05, 0.0001), straight(0.001, 0.001)], ids=["flat", "steep"])
def test_a_few_more_or_less_for_a_minute_or_two_tell_how_steep_it_is(pace: Pace, seed: int) -> None:
    """As where the division between pools is shifted to and fro: the level is not to take what that shows."""
    learning = Learning(LearningSettings())
    counts = ([64.0] * 100 + [60.0] * 100 + [64.0] * 100 + [68.0] * 100) * 3
    serve(learning, "speculative", pace, counts, noise=0.05, seed=seed)
    curve = speculative(learning)
    assert curve.rate(56) / curve.rate(72) == pytest.approx(pace(72) / pace(56), rel=0.04)


def test_the_longer_a_pool_serves_at_one_count_the_less_is_expected_of_more() -> None:
    totals = []
    for requests in (10, 100, 1000):
        learning = Learning(LearningSettings())
        serve(learning, "speculative", PACE, [64.0] * requests)
        totals.append(speculative(learning).rate(128) * 2.0 / speculative(learning).rate(64))
    assert totals[0] > 1.5 > totals[1] > 1.2 > totals[2] > 1.0


def test_noise_alone_makes_no_steep_curve() -> None:
    learning = Learning(LearningSettings())
    serve(learning, "speculative", PACE, [4.0, 8.0, 16.0] * 10)
    serve(learning, "speculative", PACE, [63.9, 64.0, 64.1] * 50, start=30.0, noise=0.2)
    assert speculative(learning).rate(72) == pytest.approx(1 / PACE(72), rel=0.1)


def test_a_burst_at_the_start_is_soon_outweighed() -> None:
    """Everybody comes at once, and their prompts come first; from then on it goes on evenly, at fewer in flight."""
    learning = Learning(LearningSettings())
    for number in range(100):
        count = 110.0 + number % 12
        learning.observe("speculative", observation(1.0 + 0.01 * number, count, 2.0 * PACE(count)))
    serve(learning, "speculative", PACE, [90.0, 95.0, 100.0] * 400, start=3.0, every=0.1)
    curve = speculative(learning)
    for count in (40, 96, 112, 128):
        assert curve.rate(count) == pytest.approx(1 / PACE(count), rel=0.15)


@pytest.mark.parametrize("waited", [0.03, 3.0])
def test_a_stream_of_two_events_had_a_token_in_the_first(waited: float) -> None:
    """As SGLang with `--stream-interval 4` sends them where it drafts: the first token, and the rest at the end."""
    learning = Learning(LearningSettings())
    for number in range(20):
        seen = observation(float(number), 4.0, PACE(4.0), per_event=256)
        learning.observe("speculative", seen._replace(seconds=255 * PACE(4.0), events=2, ttft=waited))
    assert speculative(learning).rate(4) == pytest.approx(1 / PACE(4.0), rel=0.03)
