"""What is said of users that come and go."""

from loadtest.stats import Generator, Quantiles, by_kind, in_flight, judge_users
from tests.loadtest.cells import CALM, SAMPLES, sample


def test_cells_by_kind() -> None:
    whole, chat, tools = by_kind(SAMPLES, CALM)
    assert [(cell.arm, cell.requests, cell.ok, cell.level) for cell in (whole, chat, tools)] == [
        ("all", 5, 4, 3),
        ("chat", 3, 3, 3),
        ("tools", 2, 1, 1),
    ]
    assert whole.seconds == chat.seconds == 10.0
    assert whole.throughput == 4.4
    assert (chat.ttft.p50, chat.tpot.p50) == (1.0, 0.1)
    assert tools.failures == {"status": 1}
    assert by_kind({}, CALM) == []


def test_who_leaves_as_another_comes_is_not_there_beside_it() -> None:
    [whole, _] = by_kind({"chat": [sample(0.0, 1.0), sample(1.0, 1.0)]}, CALM)
    assert whole.level == 1


def test_in_flight_over_time() -> None:
    everything = [one for some in SAMPLES.values() for one in some]
    looks = list(in_flight(everything, 2.0))
    assert [at for at, _ in looks] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert [counts["speculative"] for _, counts in looks] == [1, 1, 0, 0, 0, 0]
    assert [counts["baseline"] for _, counts in looks] == [0, 1, 2, 1, 1, 0]
    assert list(in_flight([], 1.0)) == []


def test_what_is_said() -> None:
    verdict = judge_users(by_kind(SAMPLES, CALM))
    said = " ".join(verdict.sentences)
    assert "5 requests in 10 s, at most 3 at once: 4.4 tokens a second" in said
    assert "baseline 50%, speculative 50%; by reason over_threshold 50%, under_threshold 50%" in said
    assert "Longest to the first token, by p99: tools, 3000 ms" in said
    assert "1 of 2 failed of the kind tools: status: 503" in said
    assert "does not show what routing gains" in said
    assert [(target.figure, target.passed) for target in verdict.targets] == [(1, False)]
    assert verdict.crossover is None
    assert verdict.doubts == []
    busy = judge_users(by_kind(SAMPLES, Generator(0.9, Quantiles())))
    assert "Generator-bound" in busy.doubts[0]
    assert "No request was made." in judge_users([]).sentences
