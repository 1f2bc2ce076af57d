"""Both pools on one piece of hardware: the whole load stays where it is worth more."""

import pytest

from gateway.simulator import catalogue
from gateway.simulator.compare import Case, run
from gateway.simulator.simulation import Plan

FEW = 6


@pytest.mark.parametrize("seed", [12, 13, 14])
def test_a_move_that_quiet_minutes_suggest_does_not_hold_when_many_come(seed: int) -> None:
    """With one or two the engine that drafts is faster; with 1.0 a second it can't serve all, and the others wait."""
    output = f"exponential:{catalogue.find('local-edit').output}"
    plan, load = Plan(10**9, 5400.0, 1 / 3), "bursts:0.3:1.0:300:0.3"
    ours, stays = (
        run(Case("local-edit", load, policy, plan, seed, output=output, shared="time"))
        for policy in ("adaptive:balanced", "pinned:baseline")
    )
    assert ours.changes <= FEW
    assert stays.duration_mean / ours.duration_mean >= 0.9
