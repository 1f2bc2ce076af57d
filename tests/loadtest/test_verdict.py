"""From cells to gains, the crossing, the threshold and the words: pure functions."""

import math

import pytest

from loadtest.stats import compare, crossover, judge
from loadtest.stats.crossover import crossing
from tests.loadtest.cells import BASELINE, SPECULATIVE, SPILLWAY, cell, sweep


@pytest.mark.parametrize(
    ("points", "at"),
    [
        ([(1, 1.5), (4, 1.0), (16, 0.5)], 4.0),
        ([(1, 1.2), (4, 0.8)], 2.0),  # half way, over the logarithm
        ([(1, 0.9), (2, 1.1), (4, 0.9)], math.sqrt(8)),
        ([(1, 1.2), (2, 0.9), (4, 1.1), (16, 0.9)], 8.0),  # a dip is no crossing
        ([(1, 1.2), (4, 1.1)], None),
        ([(1, 0.9), (4, 0.8)], None),
    ],
)
def test_crossing(points: list[tuple[int, float]], at: float | None) -> None:
    assert crossing(points) == (at if at is None else pytest.approx(at))


@pytest.mark.parametrize(
    ("baseline", "threshold"),
    [
        ({1: 50.0, 4: 200.0, 5: 260.0}, 4),  # even at four: four may go there
        ({1: 50.0, 4: 201.0, 5: 260.0}, 3),
        ({1: 80.1, 4: 210.0, 5: 260.0}, None),
    ],
)
def test_the_threshold_is_the_most_that_speculation_still_serves_well(
    baseline: dict[int, float], threshold: int | None
) -> None:
    found = crossover(sweep(speculative={1: 80.0, 4: 200.0, 5: 210.0}, baseline=baseline))
    assert found is not None
    assert found.threshold == threshold


def test_without_a_crossing_the_threshold_is_a_lower_bound() -> None:
    found = crossover(sweep(speculative=SPECULATIVE, baseline={1: 1.0, 4: 1.0, 16: 1.0}))
    assert found is not None
    assert (found.threshold, found.held, found.at, found.always_better) == (16, True, None, True)


def test_which_thresholds_are_as_good_follows_from_what_repeats_differ_by() -> None:
    baseline = {1: 50.0, 4: 180.0, 16: 600.0}
    steady = crossover(sweep(speculative=SPECULATIVE, baseline=baseline))
    assert steady is not None
    assert steady.alike is not None
    assert str(steady.alike) == "4 to 5"
    noisy = [
        *sweep(speculative=SPECULATIVE, baseline=baseline),
        *(cell("speculative", level, 1.5 * rate, repeat=2) for level, rate in SPECULATIVE.items()),
        *(cell("baseline", level, rate, repeat=2) for level, rate in baseline.items()),
    ]
    found = crossover(noisy)
    assert found is not None
    assert found.alike is not None
    assert found.threshold == 5
    assert (found.alike.least, found.alike.most, found.alike.repeats) == (4, 11, 3)
    assert "behind in another" in found.alike.why


def test_thresholds_beyond_what_was_measured_may_be_as_good() -> None:
    found = crossover([cell("speculative", 4, 101.0), cell("baseline", 4, 100.0)])
    assert found is not None
    assert found.alike is not None
    assert str(found.alike) == "1 to 4 or more"
    assert "is not known" in found.alike.why
    shared = crossover(sweep(speculative=SPECULATIVE, baseline={1: 1.0, 4: 1.0, 16: 1.0}), replicas=2)
    assert shared is not None
    assert str(shared.alike) == "8 or more"


def test_levels_are_shared_out_over_the_replicas() -> None:
    cells = sweep(speculative=SPECULATIVE, baseline=BASELINE)
    one, two = crossover(cells), crossover(cells, replicas=2)
    assert one is not None
    assert two is not None
    assert one.at is not None
    assert two.at is not None
    assert two.at.median == pytest.approx(one.at.median / 2)


def test_gains_are_ratios_within_a_repeat() -> None:
    drifting = [cell("a", 1, 10.0), cell("a", 1, 20.0, repeat=1), cell("b", 1, 20.0), cell("b", 1, 40.0, repeat=1)]
    [one] = compare(drifting, "a")
    assert one.gain.throughput.low == one.gain.throughput.high == 0.5


def test_the_best_of_the_other_arms() -> None:
    cells = sweep(speculative=SPECULATIVE, baseline=BASELINE, spillway=SPILLWAY)
    assert [one.best for one in compare(cells, "spillway")] == ["speculative", "speculative", "baseline"]


def test_cells_without_a_success_are_no_zero() -> None:
    cells = [*sweep(baseline=BASELINE, spillway=SPILLWAY), cell("speculative", 1, 0.0, ok=0, failures={"broken": 4})]
    assert [sorted(one.over) for one in compare(cells, "spillway")] == [["baseline"]] * 3
    assert crossover(cells) is None


def test_a_good_run() -> None:
    verdict = judge(sweep(speculative=SPECULATIVE, baseline=BASELINE, spillway=SPILLWAY), threshold=7)
    text = " ".join(verdict.sentences)
    assert "The pools cross at 5." in text
    assert "Recommended threshold: 5 (it was 7 in this run)." in text
    assert "As good by this run: a threshold of 4 to 5, where" in text
    assert "nowhere more than 2% behind" in text
    assert "No request failed, of 180." in text
    assert [target.passed for target in verdict.targets] == [True] * 4
    assert verdict.doubts == []


def test_where_it_loses_is_said() -> None:
    losing = SPILLWAY | {4: 150.0, 16: 500.0}
    verdict = judge(sweep(speculative=SPECULATIVE, baseline=BASELINE, spillway=losing))
    assert any("loses to the better arm at 4, 16: by 25% at 4" in sentence for sentence in verdict.sentences)
    assert [target.passed for target in verdict.targets] == [True, False, False, True]


def test_failures_are_said() -> None:
    cells = [
        *sweep(speculative=SPECULATIVE, spillway=SPILLWAY),
        cell("spillway", 4, 9.0, repeat=2, failures={"rejected": 3}),
    ]
    verdict = judge(cells)
    assert any("3 of 13 failed with spillway at 4: rejected: why" in sentence for sentence in verdict.sentences)
    assert not verdict.targets[-1].passed


def test_a_generator_that_was_the_bottleneck_says_so() -> None:
    busy = judge([cell("spillway", 64, 100.0, cpu=0.9)])
    assert busy.doubts[0].startswith("Generator-bound: it used 90% of a core with spillway at 64.")
    late = judge([cell("spillway", 64, 100.0, late=0.05)])
    assert "timers were late (p99 50.0 ms" in late.doubts[0]


def test_nothing_measured() -> None:
    verdict = judge([])
    assert (verdict.crossover, verdict.comparisons) == (None, [])
