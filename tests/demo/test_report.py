"""The demo's table."""

import math

import pytest

from gateway.demo.report import comparison, header, meaning, percentile, row, throughput
from gateway.demo.traffic import Level
from tests.demo.samples import level, sample


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([7.0], 0.5, 7.0),
        ([2.0, 1.0], 0.5, 1.0),
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([4.0, 3.0, 2.0, 1.0], 0.5, 2.0),
        ([1.0, 2.0, 3.0], 0.0, 1.0),
        ([1.0, 2.0, 3.0], 1.0, 3.0),
        (list(range(1, 101)), 0.99, 99),
    ],
)
def test_percentile_is_the_nearest_rank(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == expected


def test_percentile_of_nothing_is_not_a_number() -> None:
    assert math.isnan(percentile([], 0.5))


def test_throughput_counts_all_tokens_over_the_wall_clock() -> None:
    assert throughput(level(5, 8, 2)) == 10 * 48 / 2.0


def test_a_row_lines_up_with_its_header() -> None:
    names, rule = header().splitlines()
    line = row(level(5, 6, 2))
    assert len(names) == len(rule) == len(line)
    assert line.split() == ["5", "8", "6", "(75%)", "2", "(25%)", "192.0", "96.0", "100", "ms", "0"]


def test_failures_are_counted_and_kept_out_of_the_times() -> None:
    line = row(Level(2, [sample("speculative"), sample("", error="APIConnectionError")], 1.0))
    assert line.split() == ["2", "2", "1", "(50%)", "0", "(0%)", "48.0", "96.0", "100", "ms", "1"]


def test_a_row_without_a_success_has_no_times() -> None:
    line = row(Level(1, [sample("", error="x")], 1.0))
    assert line.split() == ["1", "1", "0", "(0%)", "0", "(0%)", "0.0", "-", "-", "1"]


PINNED = [level(1, 8), level(16, 8), level(1, 0, 4), level(16, 0, 16)]


def test_the_pools_alone_are_compared_where_both_were_measured() -> None:
    assert comparison(PINNED) == [(1, 2.0), (16, 0.5)]
    assert comparison(PINNED[:3]) == [(1, 2.0)]


def test_the_meaning_gives_the_measured_ratios() -> None:
    assert "2.00 with 1 and 0.50 with 16 (clients)" in meaning(4, PINNED)
    assert "not measured" in meaning(4, [Level(1, [sample("", error="x")], 1.0)])


@pytest.mark.parametrize(
    ("clients", "speculative", "said"),
    [(16, 15, False), (16, 16, True), (16, 18, True), (4, 18, False)],
)
def test_where_drafting_costs_no_throughput_the_meaning_says_so(clients: int, speculative: int, said: bool) -> None:
    pinned = [level(1, 8), level(1, 0, 4), level(clients, speculative), level(clients, 0, 16)]
    assert ("Drafting costs no throughput here" in meaning(4, pinned).splitlines()[-1]) is said
