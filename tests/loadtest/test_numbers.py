"""Percentiles against the standard library's, and what no values give."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.stats import Quantiles, percentile, quantiles, spread

VALUES = st.lists(st.floats(0, 1e6), min_size=2, max_size=50)


@given(VALUES)
def test_percentiles_are_the_standard_librarys(values: list[float]) -> None:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    found = quantiles(values)
    assert found.p50 == pytest.approx(cuts[49])
    assert found.p90 == pytest.approx(cuts[89])
    assert found.p99 == pytest.approx(cuts[98])
    assert found.max == max(values)


def test_ends() -> None:
    assert quantiles([]) == Quantiles()
    assert quantiles([3.0]) == Quantiles(3.0, 3.0, 3.0, 3.0, 3.0)
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_spread() -> None:
    assert str(spread([1.1, 0.9, 1.0])) == "1.00 (0.90 to 1.10)"
