"""Several gateways that tell each other what they have seen know what one would that had seen all of it."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.learning import Learning, LearningSettings, Report, Shares
from gateway.learning.report import Row, Rows
from gateway.learning.sketch import Point
from gateway.routing import NODES
from tests.learning.serving import observation, serve, straight

PACE, SLOWER = straight(0.005, 0.001), straight(0.005 / 0.59, 0.001 / 0.59)
COUNTS = [2.0, 4.0, 8.0, 16.0] * 10


def one(epoch: str = "one", *, half_life: float = 300.0, shared_hardware: bool = False) -> Shares:
    return Shares(Learning(LearningSettings(half_life, shared_hardware=shared_hardware)), epoch)


def wire(report: Report) -> Report:
    """As it comes out of Redis."""
    return Report.model_validate_json(report.model_dump_json())


def tell(teller: Shares, hearer: Shares, now: float, age: float = 0.0, name: str = "teller") -> None:
    hearer.take(name, wire(teller.report(now - age)), age, now)


def points(shares: Shares) -> list[Point]:
    return shares.learning.pools["speculative"].speeds.shape.sketch.points()


@st.composite
def seen(draw: st.DrawFn) -> list[tuple[float, float, float]]:
    """Requests: seconds since the last, in-flight, seconds per token."""
    few = st.tuples(st.floats(0.0, 200.0), st.floats(1.0, 60.0), st.floats(0.003, 0.05))
    return draw(st.lists(few, min_size=1, max_size=12))


def see(shares: Shares, requests: Sequence[tuple[float, float, float]], start: float = 0.0) -> float:
    """No curve is asked for in between: the level stays where it is."""
    at = start
    for later, count, pace in requests:
        at += later
        shares.learning.observe("speculative", observation(at, count, pace))
    return at


@given(st.lists(seen(), min_size=1, max_size=4))
def test_what_comes_in_parts_is_what_there_is(parts: list[list[tuple[float, float, float]]]) -> None:
    """Whatever is read when: the parts, each faded since, add up to the whole."""
    teller, at, before = one(), 0.0, Rows()
    total: dict[int, list[float]] = {}
    for part in parts:
        at = see(teller, part, at)
        told = wire(teller.report(at)).pools["speculative"].shape
        left = 2.0 ** -(told.aged - before.aged)
        news: list[Row] = told.since(before)
        total = {node: [left * held for held in sums] for node, sums in total.items()}
        for node, *sums in news:
            total[node] = [have + more for have, more in zip(total.get(node, [0.0] * 4), sums, strict=True)]
        assert not any(requests for _, requests, *_ in told.since(told))
        before = told
    for node, *sums in before.rows:
        assert total[node] == pytest.approx(sums, rel=1e-6, abs=1e-9)


@given(seen(), seen(), st.integers(1, 4))
def test_to_hear_again_what_was_heard_changes_nothing(
    first: list[tuple[float, float, float]], more: list[tuple[float, float, float]], times: int
) -> None:
    teller, once, often = one(), one("once"), one("often")
    at = see(teller, first)
    for hearer, count in ((once, 1), (often, times)):
        for _ in range(count):
            tell(teller, hearer, at)
    at = see(teller, more, at)
    tell(teller, once, at)
    tell(teller, often, at)
    assert points(often) == points(once)
    assert often.learning.pools["speculative"].told == len(first) + len(more)


@given(st.lists(seen(), min_size=2, max_size=4), st.data())
def test_the_order_of_tellers_does_not_matter(
    parts: list[list[tuple[float, float, float]]], data: st.DataObject
) -> None:
    tellers = [one() for _ in parts]
    same = [[(later, count, PACE(count)) for later, count, _ in part] for part in parts]
    now = max(see(teller, part) for teller, part in zip(tellers, same, strict=True))
    forth, mixed = one("forth"), one("mixed")
    order = list(range(len(parts)))
    for hearer, turns in ((forth, order), (mixed, data.draw(st.permutations(order)))):
        for number in turns:
            tell(tellers[number], hearer, now, name=str(number))
    for here, there in zip(points(forth), points(mixed), strict=True):
        assert (here.inflight, here.requests) == pytest.approx((there.inflight, there.requests))
        # Later ones are compared with what earlier ones made of the curve, which is near to it.
        assert here.pace == pytest.approx(there.pace, rel=0.1)


def test_what_was_heard_is_not_told_on() -> None:
    first, second, third = one("first"), one("second"), one("third")
    end = serve(first.learning, "speculative", PACE, COUNTS)
    for _ in range(5):
        tell(first, second, end, name="first")
        tell(second, first, end, name="second")
        tell(second, third, end, name="second")
    assert second.learning.curves(end + 1)[0].requests == len(COUNTS)
    assert first.learning.curves(end + 2)[0].requests == len(COUNTS)
    assert third.learning.curves(end + 2)[0].requests == 0


def test_who_has_seen_nothing_knows_what_another_has_seen() -> None:
    teller, hearer = one(), one("hearer")
    end = serve(teller.learning, "speculative", PACE, COUNTS, noise=0.05)
    end = serve(teller.learning, "baseline", SLOWER, COUNTS, start=end, noise=0.05)
    tell(teller, hearer, end + 3, age=3)
    for mine, theirs in zip(hearer.learning.curves(end + 4), teller.learning.curves(end + 4), strict=True):
        for count in (2, 4, 8, 16):
            assert mine.rate(count) == pytest.approx(theirs.rate(count), rel=0.03)
        assert (mine.requests, mine.newest) == (theirs.requests, theirs.newest)
        assert (mine.first, mine.prefill) == pytest.approx((theirs.first, theirs.prefill), rel=0.01)
        assert mine.output == pytest.approx(theirs.output)


def test_two_that_share_a_pool_know_what_one_would() -> None:
    """Each sees half of the requests; acceptance falls in between."""
    alone, tellers, random = one("alone"), {"a": one("a"), "b": one("b")}, Random(3)
    at = 0.0
    for pace, requests in ((PACE, 120), (SLOWER, 60)):
        for number in range(requests):
            at += 0.5
            seen = observation(at, COUNTS[number % 4], pace(COUNTS[number % 4]) * random.lognormvariate(0, 0.05))
            for shares in (alone, random.choice([*tellers.values()])):
                shares.learning.observe("speculative", seen)
                shares.learning.curves(at)
            if number % 4 == 3:
                tell(tellers["a"], tellers["b"], at, name="a")
                tell(tellers["b"], tellers["a"], at, name="b")
    whole = alone.learning.curves(at + 2)[0]
    for shares in tellers.values():
        curve = shares.learning.curves(at + 2)[0]
        assert curve.requests == whole.requests
        for count in (2, 4, 8, 16):
            assert curve.rate(count) == pytest.approx(whole.rate(count), rel=0.06)
            assert curve.rate(count) == pytest.approx(1 / SLOWER(count), rel=0.12)


def test_a_fall_that_only_another_sees_is_followed_at_all_counts() -> None:
    teller, hearer = one(), one("hearer")
    end = serve(teller.learning, "speculative", PACE, COUNTS)
    tell(teller, hearer, end)
    hearer.learning.curves(end + 1)
    for _ in range(3):
        end = serve(teller.learning, "speculative", SLOWER, [4.0] * 4, start=end + 1)
        tell(teller, hearer, end)
    curve = hearer.learning.curves(end + 2)[0]
    for count in (2, 4, 8, 16):
        assert curve.rate(count) == pytest.approx(1 / SLOWER(count), rel=0.15)


def test_what_is_old_counts_less() -> None:
    teller, fresh, late = one(half_life=100.0), one("fresh", half_life=100.0), one("late", half_life=100.0)
    end = serve(teller.learning, "speculative", PACE, COUNTS)
    tell(teller, fresh, end)
    tell(teller, late, end + 300, age=300)
    for before, after in zip(points(fresh), points(late), strict=True):
        assert after.requests == pytest.approx(before.requests / 8)
        assert (after.inflight, after.pace) == pytest.approx((before.inflight, before.pace))
    assert late.learning.curves(end + 301)[0].newest == pytest.approx(end)


def test_what_a_gateway_told_before_it_went_fades_beside_what_others_tell() -> None:
    gone, alive, hearer = one("gone"), one("alive"), one("hearer", half_life=50.0)
    end = serve(gone.learning, "speculative", PACE, [3.0] * 20)
    tell(gone, hearer, end, name="gone")
    [before] = points(hearer)
    end = serve(alive.learning, "speculative", PACE, [6.0] * 200, start=end)
    for _ in range(10):
        end = serve(alive.learning, "speculative", PACE, [6.0] * 20, start=end)
        tell(alive, hearer, end, name="alive")
    after, _ = points(hearer)
    assert after.requests < 0.3 * before.requests


def test_a_gateway_that_begins_anew_is_not_taken_for_its_past() -> None:
    first, again, hearer = one("first"), one("again"), one("hearer")
    end = serve(first.learning, "speculative", PACE, COUNTS)
    tell(first, hearer, end)
    end = serve(again.learning, "speculative", PACE, COUNTS[:6], start=end)
    tell(again, hearer, end)
    assert hearer.learning.pools["speculative"].told == len(COUNTS) + 6


def test_a_learning_made_of_another_has_heard_what_that_had() -> None:
    teller, hearer = one(), one("hearer")
    end = serve(teller.learning, "speculative", PACE, COUNTS)
    tell(teller, hearer, end)
    made = Learning(LearningSettings(weight=1.0))
    made.load(hearer.learning.dump())
    heir = Shares(made, "heir", hearer)
    before = points(heir)
    tell(teller, heir, end)
    assert points(heir) == before


def test_hardware_that_is_shared_and_hardware_that_is_not_have_nothing_to_say_to_each_other() -> None:
    teller, hearer = one(shared_hardware=True), one("hearer")
    end = serve(teller.learning, "speculative", PACE, COUNTS)
    tell(teller, hearer, end)
    assert not points(hearer)


def test_guests_on_shared_hardware_are_told_of_too() -> None:
    teller, hearer = one(shared_hardware=True), one("hearer", shared_hardware=True)
    for number in range(6):
        teller.learning.observe("speculative", observation(10.0 * number, 1.0, 0.02)._replace(beside=7.0))
    tell(teller, hearer, 60.0)
    pool = hearer.learning.pools["speculative"]
    assert sum(point.requests for point in pool.speeds.guests.sketch.points()) == pytest.approx(6, rel=0.2)
    assert pool.told == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"half_life": 0},
        {"pools": {"speculative": {"level": float("inf")}}},
        {"pools": {"speculative": {"shape": {"rows": [[len(NODES), 1, 1, 1, 1]]}}}},
        {"pools": {"speculative": {"shape": {"rows": [[0, -1, 1, 1, 1]]}}}},
        {"pools": {"speculative": {"first": {"sums": [1]}}}},
        {"pools": {"other": {}}},
    ],
)
def test_a_form_that_is_not_known_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Report.model_validate({**one().report(0.0).model_dump(), **wrong})


def test_what_a_later_gateway_adds_does_no_harm() -> None:
    told = one().report(0.0).model_dump()
    assert Report.model_validate({**told, "more": 1}) == one().report(0.0)


def test_who_is_missing_for_a_while_is_remembered_and_not_for_ever() -> None:
    teller, hearer = one(), one("hearer")
    end = serve(teller.learning, "speculative", PACE, COUNTS)
    tell(teller, hearer, end)
    for later, known in ((0, 1), (600, 1), (1199, 1), (1201, 2)):
        hearer.keep(set(), end + later)
        tell(teller, hearer, end)
        assert hearer.learning.pools["speculative"].told == known * len(COUNTS)


def test_curves_stay_monotone() -> None:
    teller, hearer = one(), one("hearer")
    end = serve(teller.learning, "speculative", PACE, COUNTS, noise=0.5)
    serve(hearer.learning, "speculative", SLOWER, COUNTS, noise=0.5)
    tell(teller, hearer, end)
    assert all(before >= after > 0 for before, after in pairwise(hearer.learning.curves(end + 1)[0].rates))
