"""The event core against results of queueing theory that have a closed form."""

from statistics import fmean

import pytest

from gateway.simulator.engine import EngineModel
from tests.simulator.runs import finished, poisson, shared_evenly

COUNT = 60_000


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("size", ["exponential", "constant", "hyper"])
def test_processor_sharing_does_not_care_for_the_distribution_of_sizes(load: float, size: str) -> None:
    """M/G/1-PS: the mean sojourn is E[S] / (1 - rho), whatever the sizes (Kleinrock 1967, Sakata et al. 1971)."""
    done = finished(poisson(load, COUNT, size), shared_evenly(1.0))
    assert fmean(job.done - job.arrived for job in done) == pytest.approx(1.0 / (1.0 - load), rel=0.08)


def test_long_requests_are_slowed_as_much_as_short_ones() -> None:
    """M/G/1-PS: a request of size x stays x / (1 - rho) in the mean."""
    done = finished(poisson(0.5, COUNT, "exponential"), shared_evenly(1.0))
    for low, high in ((0.1, 0.5), (0.5, 1.5), (1.5, 4.0)):
        some = [job for job in done if low < job.tokens < high]
        stretch = fmean(job.done - job.arrived for job in some) / fmean(job.tokens for job in some)
        assert stretch == pytest.approx(2.0, rel=0.06)


def test_a_replica_that_serves_a_few_at_full_speed_is_a_queue_with_servers() -> None:
    """r(n) = min(1, c/n) with exponential sizes is M/M/c in its number of requests: Erlang C gives the mean."""
    servers, rate = 3, 2.1
    model = EngineModel([0.0, *(min(1.0, servers / held) for held in range(1, 2000))])
    done = finished(poisson(rate, COUNT, "exponential"), model)
    # Erlang C for three servers with a load of 2.1.
    terms = [1.0, rate, rate**2 / 2.0]
    last = rate**3 / 6.0 / (1.0 - rate / servers)
    wait = last / (sum(terms) + last) / (servers - rate)
    assert fmean(job.done - job.arrived for job in done) == pytest.approx(1.0 + wait, rel=0.05)


def test_prompts_wait_for_each_other() -> None:
    """M/D/1: one prompt at a time, first come first served; the mean wait is rho s / (2 (1 - rho))."""
    model = EngineModel([0.0, *([1e9] * 4000)], prefill_rate=100.0)
    arrivals = poisson(0.7, COUNT, "constant")
    for _, job in arrivals:
        job.prompt = 100
    done = finished(arrivals, model)
    assert fmean(job.first - job.arrived for job in done) == pytest.approx(1.0 + 0.7 / (2.0 * 0.3), rel=0.05)
