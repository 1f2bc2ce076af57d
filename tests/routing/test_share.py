"""One gateway's share of the limit, where several can't count together."""

import pytest

from gateway.routing import Choice, Reason, SwitchSettings, SwitchState, arrive, limit, spill
from tests.routing.loads import IDLE, both, pool


@pytest.mark.parametrize(
    ("ready", "threshold", "gateways", "share"),
    [(1, 5, 1, 5), (2, 5, 2, 5), (2, 5, 3, 3), (1, 5, 5, 1), (1, 5, 9, 1), (0, 5, 3, 0)],
)
def test_it_is_rounded_down_and_at_least_one(ready: int, threshold: int, gateways: int, share: int) -> None:
    assert limit(both(pool(0, ready), IDLE), threshold, gateways) == share


def test_spill_keeps_to_it() -> None:
    assert spill(both(pool(2, 2), IDLE), 5, gateways=3) == Choice("speculative", Reason.UNDER_THRESHOLD)
    assert spill(both(pool(3, 2), IDLE), 5, gateways=3) == Choice("baseline", Reason.OVER_THRESHOLD)


def test_switch_goes_by_it() -> None:
    settings = SwitchSettings(5, 0.6, 0.0, gateways=3)
    assert not arrive(SwitchState(), both(pool(2, 2), IDLE), settings, 0.0).high
    assert arrive(SwitchState(), both(pool(3, 2), IDLE), settings, 0.0).high
