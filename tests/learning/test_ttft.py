"""The time to first token: no single one moves it far, a change is followed, and its slope is shared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning.ttft import FirstToken, share


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


@given(st.integers(-40, 240), st.sampled_from([10, 11, 12, 15, 20]), st.sampled_from([0, 1, 2, 5, 9]))
def test_one_of_any_size_among_few_is_soon_nothing(size: int, requests: int, where: int) -> None:
    usual = [0.1] * requests
    usual[where] = 10.0 ** (size / 40)
    assert at(learned([*usual, *[0.1] * 12]), 400.0) == pytest.approx(0.1, abs=0.08)


@given(st.lists(st.tuples(st.floats(1.0, 1e5), st.floats(0.0, 100.0)), min_size=1, max_size=30), st.floats(0.0, 1.0))
def test_the_line_goes_through_the_mean_between_its_own_slope_and_the_one_assumed(
    seen: list[tuple[float, float]], assumed: float
) -> None:
    first = FirstToken(300.0)
    first.merge([sum(column) for column in zip(*((1.0, w, s, w * w, w * s) for w, s in seen), strict=True)])
    first.assume(0.0, assumed)
    start, prefill = first.line()
    wait, mean = (sum(column) / len(seen) for column in zip(*seen, strict=True))
    assert start >= 0.0
    assert prefill >= 0.0
    assert start + prefill * wait == pytest.approx(mean, rel=1e-6, abs=1e-6)
    own = slope(seen)
    low, high = (assumed, assumed) if own is None else (min(own, assumed), max(own, assumed))
    most = mean / wait
    assert min(max(low, 0.0), most) * (1 - 1e-3) - 1e-9 <= prefill <= min(max(high, 0.0), most) * (1 + 1e-3) + 1e-9


@given(st.floats(0.0, 1.0), st.floats(0.0, 0.01), st.floats(0.0, 0.05), st.integers(2, 200))
def test_own_evidence_outweighs_what_is_assumed_the_more_there_is(
    start: float, prefill: float, assumed: float, times: int
) -> None:
    off = []
    for several in (1, times):
        first = FirstToken(300.0)
        for waiting in (200.0, 300.0, 400.0, 500.0, 600.0):
            seconds = start + prefill * waiting
            sums = [1.0, waiting, seconds, waiting * waiting, waiting * seconds]
            first.merge([several * value for value in sums])
        first.assume(0.0, assumed)
        off.append(abs(first.line()[1] - prefill))
    # Unless bounded by the mean, of the difference stays what the assumed weighs: one, and five of these 5 / 8.
    part = 1.0 / (1.0 + times * 0.625)
    assert off[1] <= part * abs(assumed - prefill) + 1e-9
    assert off[1] <= off[0] + 1e-9


def test_two_pools_assume_what_both_show_and_one_that_has_nothing_the_whole_line_of_the_other() -> None:
    known, new = learned([0.02 + 0.001 * (200.0 + 100.0 * (number % 5)) for number in range(500)]), FirstToken(300.0)
    share(new, known)
    assert new.line() == known.line() == pytest.approx((0.02, 0.001), rel=0.02)
    new.add(60.0, 1000.0, 1.5)
    assert new.line() == pytest.approx((0.5, 0.001), rel=0.05)
    share(known, new)
    assert new.line() == pytest.approx((0.5, 0.001), rel=0.05)


def test_a_pool_whose_sums_are_no_numbers_leaves_the_other_alone() -> None:
    known, broken = learned([0.1 + 0.02 * (number % 5) for number in range(100)]), FirstToken(300.0)
    broken.merge([float("nan")] * 5)
    share(broken, known)
    assert at(known, 400.0) == pytest.approx(0.14, rel=0.1)


def test_a_pool_that_has_seen_nothing_assumes_no_line_that_is_none() -> None:
    nothing, broken = FirstToken(300.0), FirstToken(300.0)
    broken.merge([1.0, *[float("nan")] * 4])
    share(nothing, broken)
    assert nothing.line() == (0.0, 0.0)


def slope(seen: list[tuple[float, float]]) -> float | None:
    """By least squares; None where there is none."""
    wait, mean = sum(w for w, _ in seen) / len(seen), sum(s for _, s in seen) / len(seen)
    spread = sum((w - wait) * (w - wait) for w, _ in seen)
    if spread <= 1e-9 * wait * wait:
        return None
    return sum((w - wait) * (s - mean) for w, s in seen) / spread
