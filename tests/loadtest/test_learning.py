"""What is said of a run of `python -m loadtest.learning`."""

import pytest

from loadtest.learning import Answer, Timeline, report, settled


def answers(*sent: tuple[float, str, str]) -> list[Answer]:
    return [Answer(at, pool, reason, 100.0, 0.25) for at, pool, reason in sent]


@pytest.mark.parametrize(
    ("pools", "since"),
    [
        ([], None),
        (["baseline"], None),
        (["speculative", "speculative"], 0.0),
        (["baseline", "speculative", "speculative"], 1.0),
        (["speculative", "baseline", "speculative"], 2.0),
        (["speculative", "speculative", "baseline"], None),
    ],
)
def test_settles_with_the_first_after_which_none_went_elsewhere(pools: list[str], since: float | None) -> None:
    sent = answers(*((float(at), pool, "adaptive") for at, pool in enumerate(pools)))
    assert settled(sent, "speculative") == since


def test_says_of_each_phase_when_it_settled_and_how_fast_answers_were() -> None:
    sent = answers(
        (0.5, "speculative", "under_threshold"),
        (1.0, "baseline", "exploration"),
        (8.0, "speculative", "adaptive"),
        (10.0, "speculative", "adaptive"),
        (13.5, "baseline", "adaptive"),
        (16.0, "speculative", "exploration"),
        (17.0, "baseline", "adaptive"),
        (20.0, "baseline", "adaptive"),
    )
    timeline = Timeline([(0.0, "regular"), (10.0, "prose"), (20.0, "regular")], sent, [])
    assert report(timeline, 10.0) == [
        "regular    0.5 s until only to speculative; in the second half 1 of 1",
        "         speculative: 2 requests, 2 by choice, 100 tok/s (100 to 100), first token after 250 ms",
        "         baseline: 1 requests, 0 by choice, 100 tok/s (100 to 100), first token after 250 ms",
        "prose      3.5 s until only to baseline; in the second half 1 of 1",
        "         speculative: 2 requests, 1 by choice, 100 tok/s (100 to 100), first token after 250 ms",
        "         baseline: 2 requests, 2 by choice, 100 tok/s (100 to 100), first token after 250 ms",
        "regular  never only to speculative; in the second half 0 of 0",
        "         baseline: 1 requests, 1 by choice, 100 tok/s (100 to 100), first token after 250 ms",
    ]
