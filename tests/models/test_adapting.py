"""The policy `adaptive` in a model: what stays are told, and what of it is kept."""

import logging

import pytest

from gateway.models import Ask, Grant, explain
from gateway.routing import AdaptiveSettings, Reason, Role
from tests.models.fleet import ASK, Clock, config, make, take, where

RATES: dict[Role, float] = {"speculative": 240.0, "baseline": 205.0}


def stream(clock: Clock, grant: Grant, *, tokens: int = 256, rate: float | None = None) -> None:
    """The whole of a streamed request."""
    assert grant.stay is not None
    clock.now += 0.1
    grant.stay.began(clock.now)
    clock.now += (tokens - 1) / (rate or RATES[grant.pool.role])
    grant.lease.release()
    grant.stay.tell(tokens=tokens, prompt_tokens=200, events=tokens, stream=True, finished=True)


def test_it_learns_and_then_decides() -> None:
    clock = Clock()
    model = make(config(kind="adaptive"), clock)
    reasons = set()
    for _ in range(60):
        grant = take(model, Ask(size=800))
        reasons.add(where(grant))
        stream(clock, grant)
    assert ("speculative", Reason.ADAPTIVE) in reasons
    assert ("baseline", Reason.EXPLORATION) in reasons
    assert ("speculative", Reason.UNDER_THRESHOLD) in reasons
    assert ("baseline", Reason.ADAPTIVE) not in reasons
    assert model.adapting is not None
    told = explain(model.adapting, None, clock.now)
    for role, rate in RATES.items():
        [first, *_] = told["pools"][role]["curve"]
        assert first["rate"] == pytest.approx(rate, rel=0.1)
    assert sum(told["decisions"].values()) == 60


def test_the_mean_in_flight_is_that_of_the_time_between_first_and_last_byte() -> None:
    clock = Clock()
    model = make(config(kind="adaptive", exploration=0), clock)
    first = take(model)
    clock.now += 5.0
    second = take(model)
    assert first.stay is not None
    assert second.stay is not None
    first.stay.began(clock.now)
    clock.now += 1.0
    second.lease.release()
    clock.now += 3.0
    first.lease.release()
    first.stay.tell(tokens=400, prompt_tokens=10, events=400, stream=True, finished=True)
    assert model.adapting is not None
    [point] = model.adapting.learning.pools["speculative"].dump()["shape"]
    _, requests, tokens, seconds, moment, _, _ = point
    assert (requests, tokens, seconds) == (1.0, 399.0, 4.0)
    assert moment / seconds == pytest.approx((2 * 1 + 1 * 3) / 4)


def test_balanced_is_by_default_what_the_policy_says() -> None:
    made = make(config(kind="adaptive"), Clock()).adapting
    assert made is not None
    assert made.weight == AdaptiveSettings().weight


def test_a_reload_keeps_what_was_learned_unless_the_hardware_is_another() -> None:
    clock = Clock()
    model = make(config(kind="adaptive"), clock)
    for _ in range(30):
        stream(clock, take(model))
    assert model.adapting is not None
    before = model.adapting.learning.curves(clock.now + 1)[0].requests
    assert before > 10
    model.reconfigure(config(kind="adaptive", objective="throughput"))
    assert model.adapting.weight == 1.0
    assert model.adapting.learning.curves(clock.now)[0].requests == before
    model.reconfigure(config(kind="adaptive", shared_hardware=True))
    assert model.adapting.learning.curves(clock.now)[0].requests == 0
    model.reconfigure(config())
    assert model.adapting is None
    assert take(model).stay is None


def test_requests_that_name_their_pool_or_failed_are_not_decided_about() -> None:
    model = make(config(kind="adaptive", allow_pinning=True))
    assert where(take(model, ASK._replace(pinned="baseline"))) == ("baseline", Reason.PINNED)
    assert where(take(model, ASK._replace(failed="baseline"))) == ("baseline", Reason.FAILOVER)
    assert model.adapting is not None
    assert model.adapting.modes.total() == 0


def test_prompts_that_wait_are_counted_until_their_first_byte_or_their_end() -> None:
    clock = Clock()
    model = make(config(kind="adaptive", exploration=0), clock)
    grants = [take(model, Ask(size=1000)) for _ in range(3)]
    stays = [grant.stay for grant in grants if grant.stay]
    assert [stay.ahead for stay in stays] == [1000, 2000, 3000]
    stays[0].began(clock.now)
    grants[1].lease.release()
    last = take(model, Ask(size=1000)).stay
    assert last is not None
    assert last.ahead == 2000


def test_each_decision_can_be_read_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    model = make(config(kind="adaptive", exploration=0))
    with caplog.at_level(logging.DEBUG, "gateway.models.adapting"):
        take(model)
    assert "m: speculative (under_threshold, no_evidence)" in caplog.text
