"""What was observed here and what was told count alike, and only the first is told: once, whatever happens."""

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.learning import Learning, LearningSettings, Report, Shares
from gateway.learning.sketch import Point, Sketch, nearest
from gateway.learning.ttft import FirstToken
from tests.learning.serving import observation, straight

PACE = straight(0.005, 0.001)
Role = Literal["speculative", "baseline"]
NAMES = "abc"

# Seconds since the last, in-flight, seconds per token, whether it was told.
added = st.lists(
    st.tuples(st.floats(0.0, 100.0), st.floats(1.0, 60.0), st.floats(0.003, 0.05), st.booleans()), min_size=1
)


def nearly(points: list[Point]) -> list[object]:
    """Without the slopes, which say nothing where the in-flight of few differs by nearly nothing."""
    return [pytest.approx(point[:3], rel=1e-6) for point in points]


@given(added)
def test_who_observed_it_makes_no_difference(requests: list[tuple[float, float, float, bool]]) -> None:
    alone, both, at = Sketch(300.0), Sketch(300.0), 0.0
    for later, count, pace, told in requests:
        at += later
        alone.add(at, count, 100.0, 100.0 * pace)
        both.add(at, count, 100.0, 100.0 * pace, told=told)
        assert both.near() == pytest.approx(alone.near())
    assert [point[:3] for point in both.points()] == nearly(alone.points())
    assert both.aged == alone.aged
    merged = Sketch(300.0)
    merged.merge(both.dump())
    assert [point[:3] for point in merged.points()] == nearly(alone.points())
    assert not merged.own()


@given(added)
def test_what_is_told_is_what_was_observed_here(requests: list[tuple[float, float, float, bool]]) -> None:
    """With the weights that it has among all."""
    sketch, at = Sketch(300.0), 0.0
    own: dict[int, float] = {}
    for later, count, pace, told in requests:
        at, before = at + later, sketch.aged
        sketch.add(at, count, 100.0, 100.0 * pace, told=told)
        own = {node: held * 2 ** (before - sketch.aged) for node, held in own.items()}
        own[nearest(count)] = own.get(nearest(count), 0.0) + (0.0 if told else 1.0)
    rows = {int(row[0]): row[1] for row in sketch.own()}
    assert rows == pytest.approx({node: held for node, held in own.items() if held > 1e-9}, rel=1e-6)


def test_weights_that_have_grown_are_scaled_down_in_both_parts() -> None:
    sketch = Sketch(1.0)
    for number in range(400):
        sketch.add(float(number), 4.0, 100.0, 1.0, told=number % 2 == 1)
    [[_, own, *_]], [[_, whole, *_]] = sketch.own(), sketch.dump()
    # Each counts 0.84 of the next.
    assert whole == pytest.approx(1 / (1 - 2**-0.25))
    assert own == pytest.approx(whole / (1 + 2**0.25))


def test_first_tokens_weights_that_have_grown_are_scaled_down_in_both_parts() -> None:
    first = FirstToken(1.0)
    for number in range(400):
        first.add(float(number), 100.0, 0.1)
        first.merge([1.0, 200.0, 0.2, 40000.0, 40.0])
    # Each counts 0.84 of the next, and what was told as much as what was observed just before.
    some = 1 / (1 - 2**-0.25)
    assert first.own() == pytest.approx([some * value for value in (1.0, 100.0, 0.1, 10000.0, 10.0)])
    assert first.dump() == pytest.approx([some * value for value in (2.0, 300.0, 0.3, 50000.0, 50.0)])


def test_what_was_before_is_known_and_not_told() -> None:
    sketch, first = Sketch(300.0), FirstToken(300.0)
    for number in range(10):
        sketch.add(float(number), 4.0 + number, 100.0, 1.0, told=number % 2 == 1)
        first.add(float(number), 100.0 * number, 0.1)
    points, line, count = sketch.points(), first.line(), first.dump()[0]
    sketch.start_telling()
    first.start_telling()
    assert (sketch.points(), first.line()) == (points, line)
    assert not sketch.own()
    assert first.own() == [0.0] * 5
    sketch.add(9.0, 30.0, 100.0, 1.0)
    first.add(9.0, 500.0, 0.1)
    assert [row[1] for row in sketch.own()] == [1.0]
    assert (first.own()[0], first.dump()[0]) == (1.0, count + 1.0)


def test_what_was_told_bears_on_what_is_believed_of_the_next() -> None:
    first = FirstToken(300.0)
    first.merge([100.0, 20000.0, 10.0, 4e6, 2000.0])
    first.add(0.0, 200.0, 600.0)
    assert first.own()[2] == pytest.approx(0.45)


def test_what_was_told_fades_as_what_was_observed_here() -> None:
    first = FirstToken(300.0)
    first.merge([100.0, 20000.0, 10.0, 4e6, 2000.0])
    first.add(0.0, 200.0, 0.1)
    first.add(75.0, 200.0, 0.1)
    assert first.own()[0] == pytest.approx(1.0 + 2**-0.25)
    assert first.dump()[0] == pytest.approx(1.0 + 101.0 * 2**-0.25)


def test_who_begins_to_tell_keeps_count_of_what_was_before() -> None:
    learning = Learning(LearningSettings())
    learning.prior("speculative", [(1.0, 200.0)])
    for number in range(5):
        learning.observe("speculative", observation(float(number), 4.0, PACE(4.0)))
    before, pool = learning.curves(5.0)[0], learning.pools["speculative"]
    shares = Shares(learning, "one")
    assert (pool.observed, pool.told) == (7.0, 0.0)
    learning.prior("speculative", [], 4.0)
    assert learning.curves(7.0)[0][:5] == before[:5]
    told = shares.report(7.0).pools["speculative"]
    assert (told.seen, told.ended, told.idle, told.shape.rows) == (0.0, 0.0, None, ())


def test_who_forgot_is_heard_at_once() -> None:
    teller, hearer = Gateway("a"), Gateway("b")
    for number in range(10):
        teller.observe(number, "speculative", 4.0)
    hearer.hear(teller)
    teller.forget("speculative")
    for number in range(10, 13):
        teller.observe(number, "speculative", 4.0)
    hearer.hear(teller)
    teller.check()
    hearer.check()
    assert hearer.known["speculative"].total() == 13


class Gateway:
    """One among several, and which requests it knows of: all, and those that it is to tell."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shares = Shares(Learning(LearningSettings()), f"{name}0")
        self.known: dict[Role, Counter[int]] = {"speculative": Counter(), "baseline": Counter()}
        self.numbers: set[int] = set()
        self.own: dict[int, tuple[Role, int]] = {}
        self._epochs = 0

    def observe(self, number: int, role: Role, count: float) -> None:
        self.shares.learning.observe(role, observation(0.0, count, PACE(count)))
        self.own[number] = role, nearest(count)
        self._know(self.own)

    def hear(self, other: "Gateway") -> None:
        report = Report.model_validate_json(other.shares.report(0.0).model_dump_json())
        self.shares.take(other.name, report, 0.0, 0.0)
        self._know(other.own)

    def reload(self) -> None:
        """As when `half_life` or `objective` changes."""
        made = Learning(LearningSettings())
        made.load(self.shares.learning.dump())
        self._epochs += 1
        self.shares = Shares(made, f"{self.name}{self._epochs}", self.shares)
        self.own = {}

    def forget(self, role: Role) -> None:
        """As of what no curve can be made of."""
        pool = self.shares.learning.pools[role]
        pool.load({**pool.dump(), "shape": [[5, 5.0, 1.0, float("nan"), 30.0]]})
        pool.refresh()
        self.known[role] = Counter()
        self.own = {number: seen for number, seen in self.own.items() if seen[0] != role}

    def check(self) -> None:
        for role, pool in self.shares.learning.pools.items():
            dumped = pool.dump()
            held = {node: requests for node, requests, *_ in dumped["shape"]}
            assert held == pytest.approx(dict(self.known[role]), rel=1e-6)
            assert dumped["first"][0] == pytest.approx(self.known[role].total(), rel=1e-6)

    def _know(self, told: dict[int, tuple[Role, int]]) -> None:
        for number, (role, node) in told.items():
            if number not in self.numbers:
                self.numbers.add(number)
                self.known[role][node] += 1


events = st.one_of(
    st.tuples(st.just("observe"), st.sampled_from(NAMES), st.sampled_from(("speculative", "baseline"))),
    st.tuples(st.just("tell"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("reload"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("forget"), st.sampled_from(NAMES), st.sampled_from(("speculative", "baseline"))),
)


@given(st.lists(st.tuples(events, st.floats(1.0, 60.0)), min_size=1, max_size=40))
def test_each_request_is_known_once_wherever_it_was_told(turns: list[tuple[tuple[str, str, str], float]]) -> None:
    """All at one moment: nothing fades."""
    gateways = {name: Gateway(name) for name in NAMES}
    for number, ((event, name, more), count) in enumerate(turns):
        gateway = gateways[name]
        role: Role = "baseline" if more == "baseline" else "speculative"
        if event == "observe":
            gateway.observe(number, role, count)
        elif event == "reload":
            gateway.reload()
        elif event == "forget":
            gateway.forget(role)
        elif more != name:
            gateways[more].hear(gateway)
        gateway.check()
    for gateway in gateways.values():
        gateway.check()


def requests_at(learning: Learning) -> list[tuple[float, float]]:
    """By in-flight."""
    return [
        (moment / seconds, held) for _, held, _, seconds, moment, *_ in learning.pools["speculative"].dump()["shape"]
    ]


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(1.0, 60.0), st.sampled_from(NAMES)), min_size=1))
def test_each_knows_what_one_would_that_had_seen_all(requests: list[tuple[float, float, str]]) -> None:
    """Told at once, and faded as if it had been observed."""
    alone, at = Learning(LearningSettings()), 0.0
    gateways = {name: Shares(Learning(LearningSettings()), name) for name in NAMES}
    for later, count, name in requests:
        at += later
        for learning in (alone, gateways[name].learning):
            learning.observe("speculative", observation(at, count, PACE(count)))
        for hearer, shares in gateways.items():
            if hearer != name:
                shares.take(name, gateways[name].report(at), 0.0, at)
    expected = [pytest.approx(pair) for pair in requests_at(alone)]
    for name, shares in gateways.items():
        pool = shares.learning.pools["speculative"]
        assert requests_at(shares.learning) == expected
        seen = sum(one[2] == name for one in requests)
        assert (pool.observed, pool.told) == (seen, len(requests) - seen)
