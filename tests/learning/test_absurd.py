"""Whatever others tell and engines answer, there are curves of finite speeds, and own requests set them right."""

import logging
from math import isfinite
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.learning import Learning, LearningSettings, Observation, Report, Shares
from gateway.learning.report import PoolReport
from gateway.learning.sketch import nearest
from gateway.routing import UNKNOWN, Curve
from tests.learning.serving import serve, straight

PACE = straight(0.005, 0.001)
COUNTS = [2.0, 4.0, 8.0, 16.0]
LIKELY = st.floats(0.0, 1e6) | st.sampled_from([0.0, 5e-324, 1e-9, 1.0, 1e12, 1e15])
ANY = st.sampled_from([0.0, 5e-324, 1e-300, 0.01, 1.0, 1e9, 1e15, 1e24, 1e308]) | st.floats(0.0, 1e308)


@st.composite
def rows(draw: st.DrawFn) -> list[list[float]]:
    """Of requests that might have been, by their mean seconds, seconds per token and in-flight."""
    made: list[list[float]] = []
    for inflight in draw(st.lists(st.floats(1.0, 5000.0), max_size=6, unique_by=nearest)):
        requests = 10.0 ** draw(st.floats(-2.0, 6.0))
        seconds = requests * 10.0 ** draw(st.floats(-3.0, 4.0))
        tokens = seconds / 10.0 ** draw(st.floats(-6.0, 6.0))
        made.append([nearest(inflight), requests, tokens, seconds, seconds * inflight])
    return made


@st.composite
def firsts(draw: st.DrawFn) -> list[float]:
    """Of as many requests as liked, each with its waiting tokens and seconds."""
    some = draw(st.lists(st.tuples(st.floats(0.01, 1e8) | st.just(0.0), st.floats(0.0, 1e5)), max_size=4))
    times, moments = draw(st.sampled_from([1.0, 100.0, 1e6])), [(1.0, w, s, w * w, w * s) for w, s in some]
    return [times * sum(column) for column in zip(*moments, strict=True)] or [0.0] * 5


pools = st.fixed_dictionaries(
    {
        "shape": st.fixed_dictionaries({"aged": LIKELY, "rows": rows()}),
        "guests": st.fixed_dictionaries({"aged": LIKELY, "rows": rows()}),
        "first": st.fixed_dictionaries({"aged": LIKELY, "sums": firsts()}),
    },
    optional={
        "ended": LIKELY,
        "tokens": LIKELY,
        "seen": LIKELY,
        "level": st.floats(1e-3, 1e3),
        "idle": LIKELY,
    },
)


@st.composite
def reports(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly of a form that is let through; some with one number that is any number."""
    pool: dict[str, Any] = draw(pools)
    made: dict[str, Any] = {
        "version": 1,
        "epoch": draw(st.sampled_from("ab")),
        "half_life": draw(st.sampled_from([5e-324, 1e-3, 20.0, 300.0, 1e15])),
        "shared_hardware": False,
        "pools": {"speculative": pool, "baseline": draw(pools)},
    }
    if draw(st.integers(0, 3)) == 0:
        field = draw(st.sampled_from(["rows", "sums", "level", "seen", "tokens", "ended", "idle", "half_life"]))
        if field == "half_life":
            made[field] = draw(ANY)
        elif field == "sums":
            pool["first"]["sums"][draw(st.integers(0, 4))] = draw(ANY)
        elif field == "rows":
            pool["shape"]["rows"] += [[0, *draw(st.lists(ANY, min_size=4, max_size=4))]]
        else:
            pool[field] = draw(ANY)
    return made


def sound(curve: Curve) -> bool:
    others = (*curve.gains, *curve.known, curve.requests, curve.spread, curve.first, curve.prefill, curve.output)
    return all(0.0 < rate < 1e12 for rate in curve.rates) and all(map(isfinite, others))


@given(st.lists(st.tuples(reports(), st.floats(0.0, 1200.0)), min_size=1, max_size=4), st.integers(0, 12))
def test_no_report_does_lasting_harm(told: list[tuple[dict[str, Any], float]], before: int) -> None:
    shares = Shares(Learning(LearningSettings(half_life=20.0)), "one")
    learning = shares.learning
    now = serve(learning, "speculative", PACE, COUNTS * before)
    for turn, (each, age) in enumerate(told):
        try:
            report = Report.model_validate(each)
        except ValidationError:
            continue
        shares.take(f"liar {turn % 2}", report, age, now)
        now += 1.0
        for curve in learning.curves(now):
            assert curve.rates == UNKNOWN.rates or sound(curve)
        Report.model_validate_json(shares.report(now).model_dump_json())
    now = serve(learning, "speculative", PACE, COUNTS * 100, start=now)
    now = serve(learning, "speculative", PACE, [4.0] * 20, start=now)
    curve = learning.curves(now + 1.0)[0]
    assert sound(curve)
    assert curve.rate(4) == pytest.approx(1 / PACE(4), rel=0.25)


def known(*, noise: float = 0.0) -> tuple[Shares, float]:
    shares = Shares(Learning(LearningSettings()), "one")
    return shares, serve(shares.learning, "speculative", PACE, COUNTS * 25, noise=noise)


def lie(**pool: Any) -> Report:
    return Report(epoch="x", half_life=300.0, shared_hardware=False, pools={"speculative": PoolReport(**pool)})


def test_one_who_claims_a_billion_requests_does_not_decide_everything() -> None:
    shares, now = known()
    rows = ((3, 1e9, 1e10, 1e11, 4e11),)
    shares.take("liar", lie(shape={"rows": rows}, ended=1e9, tokens=1e15, seen=1e9), 0.0, now)
    own = shares.learning.curves(now + 1)[0]
    now = serve(shares.learning, "speculative", PACE, COUNTS * 5, start=now + 1)
    curve = shares.learning.curves(now + 1)[0]
    for count in COUNTS:
        assert curve.rate(int(count)) == pytest.approx(1 / PACE(count), rel=0.25)
    assert own.output <= 10 * 256
    assert all(point.requests <= 1100 for point in shares.learning.pools["speculative"].speeds.shape.sketch.points())


@pytest.mark.parametrize(
    "odd",
    [
        Observation(0.0, 10**8 - 1, 1.0, 2.0, 100, 50, 0.1, 50.0),
        Observation(0.0, 9, 3000.0, 2.0, 9, 50, 0.1, 50.0),
        Observation(0.0, 10**8 - 1, 3000.0, 2.0, 0, 50, None, 50.0),
    ],
)
def test_one_odd_answer_moves_nothing(odd: Observation) -> None:
    shares, now = known(noise=0.05)
    told = shares.report(now).pools["speculative"].shape
    before = shares.learning.curves(now + 1)[0]
    shares.learning.observe("speculative", odd._replace(at=now + 1))
    after = shares.learning.curves(now + 3)[0]
    assert after.rates == pytest.approx(before.rates, rel=0.1)
    assert before.output / 2 <= after.output <= 2 * before.output
    for ours, theirs in zip(shares.report(now).pools["speculative"].shape.rows, told.rows, strict=True):
        assert ours[3] / ours[2] == pytest.approx(theirs[3] / theirs[2], rel=0.2)


def test_what_no_curve_can_be_made_of_is_forgotten_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    shares, now = known()
    before, pool = shares.learning.curves(now + 1)[0], shares.learning.pools["speculative"]
    for turn, row in enumerate(([5, 5.0, 0.0, 5.0, 30.0], [5, 5.0, 1.0, float("nan"), 30.0])):
        pool.load({**pool.dump(), "shape": [row]})
        assert shares.learning.curves(now + 3 + 2 * turn)[0] == before
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    now = serve(shares.learning, "speculative", PACE, COUNTS * 5, start=now + 10)
    curve = shares.learning.curves(now + 1)[0]
    assert curve.rate(4) == pytest.approx(1 / PACE(4), rel=0.1)
