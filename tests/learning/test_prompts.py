"""Prompts get longer or shorter: what is expected of the first token follows, also in the pool that serves none."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import Learning, LearningSettings, Observation, Report, Shares
from gateway.routing import AdaptiveSettings, AdaptiveState, Arrival, Choice, Curve, ModelLoad, PoolLoad, Role, decide

Wait = Callable[[float], float]
LENGTHS = [(120, 50), (50, 2000), (1000, 30), (400, 500)]


def waits(start: float, prefill: float) -> Wait:
    return lambda waiting: start + prefill * waiting


class Pools:
    """Both, with one request after the other, each alone."""

    def __init__(self, speculative: Wait, baseline: Wait | None = None, *, scatter: float = 0.1) -> None:
        self.learning = Learning(LearningSettings(weight=0.0))
        self.now = 0.0
        self._waits: dict[Role, Wait] = {"speculative": speculative, "baseline": baseline or speculative}
        self._random, self._scatter = Random(1), scatter

    def serve(self, role: Role, length: float, requests: int = 1, rate: float = 100.0) -> None:
        """Prompts of about this length; the curves are read in between, as in life."""
        for _ in range(requests):
            waiting = round(length * self._random.lognormvariate(0.0, self._scatter))
            ttft = self._waits[role](waiting) * self._random.lognormvariate(0.0, 0.05)
            self.now += ttft + 63 / rate
            seen = Observation(self.now, 64, 63 / rate, 1.0, 64, waiting, ttft, waiting)
            self.learning.observe(role, seen)
            self.learning.curves(self.now)

    def expects(self, role: Role, length: float) -> float:
        speculative, baseline = self.learning.curves(self.now + 2.0)
        return at(speculative if role == "speculative" else baseline, length)


def at(curve: Curve, waiting: float) -> float:
    return curve.first + curve.prefill * waiting


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("few", [1, 3, 5, 40])
@pytest.mark.parametrize("scatter", [0.0, 0.05, 0.5])
def test_the_pool_that_is_not_used_is_expected_to_be_as_soon(
    lengths: tuple[int, int], few: int, scatter: float
) -> None:
    before, after = lengths
    wait = waits(0.02, 0.001)
    pools = Pools(wait, scatter=scatter)
    pools.serve("baseline", before, few)
    pools.serve("speculative", before, 60)
    pools.serve("speculative", after, 20)
    for role in ("speculative", "baseline"):
        # The line goes through what was seen, so it is off by what that was off by.
        assert pools.expects(role, after) == pytest.approx(wait(after), rel=0.25, abs=0.1 * wait(before))


@pytest.mark.parametrize("lengths", LENGTHS)
def test_a_pool_that_is_later_with_every_prompt_stays_so(lengths: tuple[int, int]) -> None:
    before, after = lengths
    late = waits(0.3, 0.001)
    pools = Pools(waits(0.02, 0.001), late)
    pools.serve("baseline", before, 40)
    pools.serve("speculative", before, 40)
    pools.serve("speculative", after, 20)
    assert pools.expects("baseline", after) == pytest.approx(late(after), rel=0.25)


@pytest.mark.parametrize("factor", [0.25, 0.5, 2.0, 4.0])
def test_other_hardware_is_soon_known_by_its_own_requests(factor: float) -> None:
    other = waits(0.02, 0.001 * factor)
    pools = Pools(waits(0.02, 0.001), other, scatter=0.5)
    pools.serve("speculative", 500, 500)
    pools.serve("baseline", 500, 20)
    for length in (250, 500, 2000):
        assert pools.expects("baseline", length) == pytest.approx(other(length), rel=0.2, abs=0.02)
        assert pools.expects("speculative", length) == pytest.approx(0.02 + 0.001 * length, rel=0.1, abs=0.02)


def test_a_pool_without_a_first_token_of_its_own_is_taken_to_be_like_the_other() -> None:
    pools = Pools(waits(0.02, 0.001))
    pools.learning.prior("baseline", [(1, 100.0)])
    pools.serve("speculative", 500, 20)
    speculative, baseline = pools.learning.curves(pools.now + 2.0)
    assert (baseline.first, baseline.prefill) == (speculative.first, speculative.prefill)
    pools.serve("baseline", 500)
    assert pools.expects("baseline", 500) == pytest.approx(0.52, rel=0.25)


def test_prompts_all_of_one_length_say_nothing_of_others() -> None:
    pools = Pools(waits(0.02, 0.001), scatter=0.0)
    for role in ("speculative", "baseline"):
        pools.serve(role, 500, 20)
    for curve in pools.learning.curves(pools.now + 2.0):
        assert curve.first == pytest.approx(0.52, rel=0.1)
        assert curve.prefill == 0.0


def test_a_long_prompt_after_short_ones_is_not_taken_for_odd_where_the_other_pool_knows_such() -> None:
    pools = Pools(waits(0.02, 0.001))
    pools.serve("baseline", 50, 20)
    pools.serve("speculative", 50, 20)
    pools.serve("speculative", 4000, 10)
    pools.learning.curves(pools.now + 2.0)
    before = pools.learning.pools["baseline"].first.own()
    pools.serve("baseline", 4000)
    after = pools.learning.pools["baseline"].first.own()
    assert after[2] - before[2] == pytest.approx(4.02, rel=0.5)


def test_a_gateway_that_was_told_expects_what_the_teller_does() -> None:
    pools, hearer = Pools(waits(0.02, 0.001)), Shares(Learning(LearningSettings(weight=0.0)), "hearer")
    teller = Shares(pools.learning, "teller")
    pools.serve("baseline", 120, 3)
    pools.serve("speculative", 120, 40)
    pools.serve("speculative", 50, 20)
    hearer.take("teller", Report.model_validate_json(teller.report(pools.now).model_dump_json()), 0.0, pools.now)
    for mine, theirs in zip(
        pools.learning.curves(pools.now + 2.0), hearer.learning.curves(pools.now + 2.0), strict=True
    ):
        assert at(theirs, 50) == pytest.approx(at(mine, 50), rel=0.01)


@pytest.mark.parametrize("lengths", [(120, 50), (50, 400)])
def test_requests_leave_the_pool_that_has_become_slower_whatever_their_prompts(lengths: tuple[int, int]) -> None:
    """Edits become prose, slower in the speculative pool than in the other, which has served few requests, no prose."""
    before, after = lengths
    pools, state = Pools(waits(0.0, 0.0034)), AdaptiveState()
    pools.serve("baseline", before, 3, rate=88.0)
    pools.serve("speculative", before, 60, rate=146.0)
    pools.serve("speculative", after, 6, rate=72.0)
    load = ModelLoad(PoolLoad(0, 1, True, True), PoolLoad(0, 1, True, True))
    curves = pools.learning.curves(pools.now + 2.0)
    settings = AdaptiveSettings(weight=0.0, exploration=0.0)
    decision, _ = decide(load, *curves, state, settings, Arrival(pools.now + 2.0, 0.5, after))
    assert isinstance(decision.placement, Choice)
    assert (decision.placement.role, decision.mode) == ("baseline", "adaptive")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["speculative", "baseline"]),
            st.floats(0.0, 1e7) | st.sampled_from([0.0, 5e-324, 1e-200]),
            st.floats(0.0, 600.0),
        ),
        max_size=40,
    )
)
def test_whatever_was_seen_a_first_token_takes_a_time(seen: list[tuple[Role, float, float]]) -> None:
    learning = Learning(LearningSettings())
    for number, (role, waiting, ttft) in enumerate(seen):
        learning.observe(role, Observation(float(number), 100, 1.0, 1.0, 100, 0, ttft, waiting))
        for curve in learning.curves(2.0 * number):
            assert 0.0 <= at(curve, 0.0) <= at(curve, 1000.0) < float("inf")
