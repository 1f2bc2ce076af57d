"""Retries are a share of the requests."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.config import Retries
from gateway.relay import RetryBudget


def test_it_starts_full_and_empties() -> None:
    budget = RetryBudget(Retries(ratio=0, burst=2))
    assert [budget.spend() for _ in range(4)] == [True, True, False, False]
    budget.earn()
    assert not budget.spend()


def test_requests_fill_it() -> None:
    budget = RetryBudget(Retries(ratio=0.5, burst=1))
    assert budget.spend()
    budget.earn()
    assert not budget.spend()
    budget.earn()
    assert budget.spend()


def test_no_burst_no_retries() -> None:
    budget = RetryBudget(Retries(ratio=1, burst=0))
    budget.earn()
    assert not budget.spend()


def test_a_reload_takes_effect() -> None:
    budget = RetryBudget(Retries(ratio=0, burst=100))
    budget.reconfigure(Retries(ratio=1, burst=1))
    assert [budget.spend(), budget.spend()] == [True, False]
    budget.reconfigure(Retries(ratio=1, burst=50))
    assert not budget.spend(), "a larger bucket is not full by itself"
    budget.earn()
    assert budget.spend()


@given(st.floats(0, 1), st.integers(0, 20), st.lists(st.booleans(), max_size=200))
def test_never_more_than_the_share(ratio: float, burst: int, history: list[bool]) -> None:
    budget = RetryBudget(Retries(ratio=ratio, burst=burst))
    requests = retries = 0
    for is_request in history:
        if is_request:
            budget.earn()
            requests += 1
        else:
            retries += budget.spend()
        assert retries <= burst + ratio * requests + 1e-6
