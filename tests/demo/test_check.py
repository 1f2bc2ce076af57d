"""The demo's check says which of its claims did not hold, and only those."""

from dataclasses import replace

import pytest

from gateway.demo.check import Measured, claims
from gateway.demo.traffic import Level
from tests.demo.samples import level, measured, sample

GOOD = measured()


def problems(run: Measured) -> list[str]:
    return [claim.problem for claim in claims(run) if claim.problem]


def test_a_good_run_has_no_problem() -> None:
    assert problems(GOOD) == []


def test_the_claims_of_a_good_run_count_its_requests() -> None:
    assert "62 requests" in claims(GOOD)[-1].text


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (replace(GOOD, looks=0), "could not be read"),
        (replace(GOOD, unanswered=2), "did not answer 2 times"),
        (replace(GOOD, peak=5), "showed 5 in flight"),
        (replace(GOOD, over_limit=1), "over its limit 1 times"),
        (replace(GOOD, inflight_after={"speculative": 1, "baseline": 0}), "still shows {'speculative': 1}"),
        (replace(GOOD, requests={("speculative", "200"): 65}), "speculative 200: 65, the clients saw baseline 200: 30"),
        (measured(level(4, 7, 1), level(5, 8, 2)), "with 4 clients one went to baseline (under_threshold)"),
        (measured(level(1, 4), level(5, 10)), "with 5 clients no request went to the baseline pool"),
        (measured(level(1, 4), level(8, 0, 10)), "with 8 clients no request went to the speculative pool"),
    ],
)
def test_each_deviation_is_the_one_problem(run: Measured, said: str) -> None:
    (problem,) = problems(run)
    assert said in problem


def test_a_failed_request_is_named_and_breaks_no_other_claim_above_the_threshold() -> None:
    failed = Level(5, [*level(5, 8, 2).samples, sample("", error="InternalServerError: no engine")], 2.0)
    run = replace(GOOD, levels=(level(1, 4), failed), requests=measured(level(1, 4), level(5, 8, 2)).requests)
    assert problems(run) == ["1 of 23 did, the first with: InternalServerError: no engine"]
