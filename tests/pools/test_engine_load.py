"""From an engine's own count to what it holds from elsewhere, whatever the delay between the two."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.engines import Reading
from gateway.pools import EngineLoad


def read(load: EngineLoad, count: int, ours: int, progress: float | None = None) -> int:
    """One reading during which nothing of ours came or went."""
    load.begin(ours)
    return load.finish(Reading(count, progress), ours, 0.0)


def test_what_lasts_over_two_readings_counts() -> None:
    load = EngineLoad()
    assert [read(load, 7, 3), read(load, 7, 3), read(load, 7, 3)] == [0, 4, 4]


def test_what_passes_does_not() -> None:
    """A probe that generates a token is in the engine for one reading."""
    load = EngineLoad()
    assert [read(load, count, 3) for count in (3, 4, 3, 3, 4, 3)] == [0] * 6


def test_an_engine_that_holds_less_than_we_count_holds_nothing_else() -> None:
    """Ours are on their way there."""
    load = EngineLoad()
    assert [read(load, 1, 3), read(load, 0, 3)] == [0, 0]


def test_ours_that_have_just_ended_are_not_from_elsewhere() -> None:
    load = EngineLoad()
    read(load, 5, 5)
    for ours in (5, 4, 3):
        load.saw(ours)
    assert read(load, 5, 2) == 0
    assert read(load, 5, 2) == 0
    assert read(load, 5, 2) == 3


def test_old_readings_are_no_ground() -> None:
    load = EngineLoad()
    read(load, 7, 3)
    load.forget()
    assert load.count is None
    assert read(load, 7, 3) == 0
    assert read(load, 7, 3) == 4


def test_a_count_without_progress_is_not_believed() -> None:
    """vLLM keeps the last counts when all requests were aborted."""
    load = EngineLoad()
    assert [read(load, 9, 0, progress) for progress in (1.0, 2.0, 3.0, 3.0, 3.0)] == [0, 9, 9, 0, 0]


# What happens to requests between readings: ours begin or end, others' begin or end.
happenings = st.lists(
    st.sampled_from(["ours begins", "ours ends", "other begins", "other ends", "reading"]), max_size=60
)


@given(happenings, st.data())
def test_never_more_than_others_had(history: list[str], data: st.DataObject) -> None:
    """However late the engine counts what it holds, within two pauses between readings.

    It says what it held at any time since the reading before the last was begun; ours are never taken for others'.
    """
    load = EngineLoad()
    ours = others = 0
    held: list[int] = [0]  # by the engine, since the reading before the last
    since: list[int] = [0]  # the same since the last
    most: list[int] = [0]  # of others, in the same times
    most_since: list[int] = [0]
    for what in history:
        if what == "ours begins":
            ours += 1
        elif what == "ours ends" and ours:
            ours -= 1
            load.saw(ours + 1)
        elif what == "other begins":
            others += 1
        elif what == "other ends" and others:
            others -= 1
        elif what == "reading":
            load.begin(ours)
            outside = load.finish(Reading(data.draw(st.sampled_from(held))), ours, 0.0)
            assert outside <= max(most)
            held, since = [*since, ours + others], [ours + others]
            most, most_since = [*most_since, others], [others]
        for counts, count in ((held, ours + others), (since, ours + others), (most, others), (most_since, others)):
            counts.append(count)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(2, 6))
def test_a_steady_state_is_found(ours: int, others: int, readings: int) -> None:
    load = EngineLoad()
    assert [read(load, ours + others, ours) for _ in range(readings)][1:] == [others] * (readings - 1)
