"""Pauses between failed requests."""

import pytest

from gateway.pools.discovery.backoff import Backoff


def test_it_doubles_up_to_the_longest() -> None:
    backoff = Backoff(2.0, lambda: 1.0)
    assert [round(backoff.pause(), 3) for _ in range(6)] == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_it_starts_anew() -> None:
    backoff = Backoff(30.0, lambda: 1.0)
    backoff.pause()
    backoff.pause()
    backoff.reset()
    assert backoff.pause() == 0.2


@pytest.mark.parametrize(("drawn", "least"), [(0.0, 0.1), (0.5, 0.15)])
def test_it_is_spread(drawn: float, least: float) -> None:
    assert Backoff(30.0, lambda: drawn).pause() == pytest.approx(least)


def test_what_the_server_asks_for_comes_on_top() -> None:
    assert Backoff(30.0, lambda: 0.0).pause(at_least=5.0) == pytest.approx(5.1)


def test_a_short_longest() -> None:
    backoff = Backoff(0.05, lambda: 1.0)
    assert [backoff.pause(), backoff.pause()] == [0.05, 0.05]
