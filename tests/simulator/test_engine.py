"""One replica, second by second, and what holds whatever comes."""

from functools import partial
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.routing import digest
from gateway.simulator.agenda import Agenda
from gateway.simulator.engine import EngineModel, Job, Replica, Tally
from tests.simulator.runs import PLAIN, finished


def test_one_request_runs_at_the_speed_of_one() -> None:
    [job] = finished([(2.0, Job(tokens=50.0))])
    assert (job.arrived, job.first, job.done) == (2.0, 2.0, 2.5)


def test_a_second_request_slows_the_first_from_when_it_comes() -> None:
    # 100 tokens by 1.0 s; then 80 per second each.
    first, second = finished([(0.0, Job(tokens=180.0)), (1.0, Job(tokens=160.0))])
    assert first.done == pytest.approx(2.0)
    assert second.done == pytest.approx(2.8)


def test_more_requests_than_the_curve_has_share_its_last_total() -> None:
    done = finished([(0.0, Job(tokens=20.0)) for _ in range(8)])
    assert [job.done for job in done] == [pytest.approx(1.0)] * 8


def test_a_prompt_is_processed_before_the_first_token_and_stalls_the_others() -> None:
    model = PLAIN._replace(prefill_seconds=0.5, prefill_rate=1000.0, stall=0.5)
    first, second = finished([(0.0, Job(500, 101.0)), (1.5, Job(500, 101.0))], model)
    # Prompts end at 1.0 and 2.5. 50 tokens by 1.5 s, then at half of 80 until 2.5, then at 80.
    assert first.first == pytest.approx(1.0)
    assert second.first == pytest.approx(2.5)
    assert first.done == pytest.approx(2.5 + 10.0 / 80.0)


def test_a_lag_comes_before_the_first_token_and_grows_with_the_load() -> None:
    model = PLAIN._replace(lag=20.0)
    [alone] = finished([(0.0, Job(tokens=81.0))], model)
    assert (alone.first, alone.done) == pytest.approx((0.2, 1.0))
    for job in finished([(0.0, Job(tokens=81.0)), (0.0, Job(tokens=81.0))], model):
        assert (job.first, job.done) == pytest.approx((0.25, 1.25))


def test_who_comes_to_an_idle_engine_waits_for_no_step_of_others() -> None:
    model = PLAIN._replace(lag=20.0, lag_alone=5.0)
    first, second = finished([(0.0, Job(tokens=81.0)), (0.5, Job(tokens=81.0))], model)
    assert (first.first, second.first) == pytest.approx((0.05, 0.75))


def test_acceptance_changes_the_speed_of_what_runs() -> None:
    agenda, done = Agenda(), list[Job]()
    replica = Replica(agenda, "speculative", digest(b"a"), PLAIN, Tally(), done.extend)
    agenda.at(0.0, lambda: replica.add(Job(tokens=150.0)))

    def halve() -> None:
        replica.scale = 0.5
        replica.refresh()

    agenda.at(1.0, halve)
    agenda.run()
    assert done[0].done == pytest.approx(2.0)


@pytest.mark.parametrize(("sharing", "seconds"), [("own", 1.0), ("time", 1.25), (0.5, 2.0)])
def test_twins_on_one_piece_of_hardware(sharing: object, seconds: float) -> None:
    agenda, done = Agenda(), list[Job]()
    one = Replica(agenda, "speculative", digest(b"a"), PLAIN, Tally(), done.extend)
    other = Replica(agenda, "baseline", digest(b"b"), PLAIN, Tally(), done.extend)
    if sharing == "time" or isinstance(sharing, float):
        one.share_with(other, sharing)
        other.share_with(one, sharing)
    agenda.at(0.0, lambda: one.add(Job(tokens=100.0)))
    agenda.at(0.0, lambda: other.add(Job(tokens=100.0)))
    agenda.run()
    assert [job.done for job in done] == [pytest.approx(seconds)] * 2


ARRIVALS = st.lists(
    st.tuples(st.floats(0.0, 30.0), st.integers(0, 400), st.floats(1.0, 300.0)), min_size=1, max_size=60
).map(lambda rows: [(time, Job(prompt, tokens, prompt)) for time, prompt, tokens in sorted(rows)])
MODELS = st.builds(
    EngineModel,
    st.lists(st.floats(1.0, 500.0), min_size=1, max_size=8).map(lambda rates: [0.0, *sorted(rates, reverse=True)]),
    st.floats(0.0, 0.2),
    st.floats(100.0, 1e5) | st.just(inf),
    st.floats(0.0, 1.0),
    st.none(),
    st.just(0.0) | st.floats(0.5, 20.0),
    st.none() | st.floats(0.5, 20.0),
)


@settings(deadline=None)
@given(ARRIVALS, MODELS, st.integers(1, 4))
def test_nothing_is_lost_and_nothing_comes_early(
    arrivals: list[tuple[float, Job]], model: EngineModel, replicas: int
) -> None:
    done = finished(arrivals, model, replicas=replicas)
    assert sorted(map(id, done)) == sorted(id(job) for _, job in arrivals)
    for job in done:
        assert job.arrived + model.prefill(job.prompt) * (1 - 1e-6) <= job.first
        # Nobody gets more than the speed of a request that is alone.
        assert job.first + job.work / model.rate(1) * (1 - 1e-6) <= job.done + 1e-6


@settings(deadline=None)
@given(ARRIVALS, MODELS)
def test_what_is_served_is_what_was_asked_for(arrivals: list[tuple[float, Job]], model: EngineModel) -> None:
    agenda, done = Agenda(), list[Job]()
    replica = Replica(agenda, "speculative", 0, model, Tally(), done.extend)
    for time, job in arrivals:
        job.prefill = model.prefill(job.prompt)
        job.lag = model.lag_at(replica.inflight + 1)
        job.work = max(job.tokens - 1.0, 0.0) if job.prefill or job.lag else job.tokens
        agenda.at(time, partial(replica.add, job))
    agenda.run()
    assert replica.inflight == replica.waiting == 0
    assert replica.served == pytest.approx(sum(job.tokens for job in done), rel=1e-6, abs=1e-3)
    # Little: the sum of all stays is the integral of the requests held.
    assert replica.area == pytest.approx(sum(job.done - job.placed for job in done), rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(ARRIVALS, st.floats(1.0, 500.0))
def test_a_replica_with_work_works(arrivals: list[tuple[float, Job]], total: float) -> None:
    """Work conservation: with a total that does not depend on the number, the last is done when a single server is."""
    model = EngineModel([0.0, *(total / held for held in range(1, 100))])
    done = finished(arrivals, model)
    free = 0.0
    for time, job in arrivals:
        free = max(free, time) + job.tokens / total
    assert max(job.done for job in done) == pytest.approx(free, rel=1e-6, abs=1e-6)
