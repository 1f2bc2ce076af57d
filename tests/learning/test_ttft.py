"""The time to first token: no single one moves it far, and a change is followed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning.ttft import FirstToken


def learned(seconds: list[float]) -> FirstToken:
    first = FirstToken(300.0)
    for number, one in enumerate(seconds):
        first.add(0.1 * number, 200.0 + 100.0 * (number % 5), one)
    return first


def at(first: FirstToken, waiting: float) -> float:
    start, prefill = first.line()
    return start + prefill * waiting


@given(st.floats(0.0, 1e6), st.integers(10, 100), st.integers(0, 99))
def test_one_that_is_far_off_moves_it_little(odd: float, requests: int, where: int) -> None:
    usual = [0.1] * requests
    usual[min(where, requests - 1)] = odd
    after = learned([*usual, *[0.1] * 12])
    assert at(after, 400.0) == pytest.approx(0.1, rel=1.0, abs=0.1)


def test_one_of_ten_minutes_among_many_is_not_seen() -> None:
    assert at(learned([0.1] * 200 + [600.0]), 400.0) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("factor", [0.01, 0.1, 10.0, 100.0])
def test_a_change_is_followed_within_some_requests(factor: float) -> None:
    assert at(learned([0.5] * 500 + [0.5 * factor] * 20), 400.0) == pytest.approx(0.5 * factor, rel=0.3, abs=0.05)


def test_a_first_one_that_is_far_off_is_soon_forgotten() -> None:
    assert at(learned([600.0] + [0.1] * 20), 400.0) == pytest.approx(0.1, rel=1.0)


def test_what_was_forgotten_counts_as_faded_for_others_too() -> None:
    calm, changed = learned([0.5] * 100), learned([0.5] * 100)
    before = changed.aged
    for number in range(3):
        changed.add(20.0, 400.0 + number, 50.0)
    assert changed.aged > before
    assert changed.dump()[0] < calm.dump()[0]
