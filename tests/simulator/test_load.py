"""Arrivals, lengths and traces."""

from itertools import islice, pairwise
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from gateway.simulator import trace
from gateway.simulator.lengths import LengthError, parse
from gateway.simulator.load import Rate, Requests, bursts, day, poisson, steady
from gateway.simulator.trace import TraceError
from tests.docs.markdown import REPOSITORY

REQUESTS = (parse("100"), parse("exponential:200"))


def arrivals(rate: Rate, until: float) -> list[float]:
    found: list[float] = []
    for time, _ in poisson(rate, Requests(1, *REQUESTS), 1):
        if time > until:
            return found
        found.append(time)
    return found


def test_a_poisson_process_has_its_rate_and_spread() -> None:
    times = arrivals(steady(20.0), 2000.0)
    gaps = [after - before for before, after in pairwise(times)]
    assert len(times) == pytest.approx(40_000, rel=0.02)
    mean = fmean(gaps)
    assert fmean((gap - mean) ** 2 for gap in gaps) == pytest.approx(mean**2, rel=0.05)


def test_bursts_come_in_their_share_of_the_period() -> None:
    times = arrivals(bursts(5.0, 50.0, 60.0, 0.25), 6000.0)
    inside = [time for time in times if time % 60.0 < 15.0]
    assert len(inside) == pytest.approx(6000 * 0.25 * 50, rel=0.03)
    assert len(times) - len(inside) == pytest.approx(6000 * 0.75 * 5, rel=0.03)


def test_a_day_begins_low() -> None:
    times = arrivals(day(1.0, 9.0, 1000.0), 100_000.0)
    by_quarter = [sum(1 for time in times if int(time % 1000.0 // 250.0) == quarter) for quarter in range(4)]
    assert len(times) == pytest.approx(500_000, rel=0.02)
    assert by_quarter[0] == pytest.approx(by_quarter[3], rel=0.05)
    assert by_quarter[1] > 2.5 * by_quarter[0]


def test_the_same_seed_makes_the_same_requests() -> None:
    def some(seed: int) -> list[tuple[float, int, float, int]]:
        made = islice(poisson(steady(1.0), Requests(seed, *REQUESTS), seed), 50)
        return [(time, job.prompt, job.tokens, job.affinity) for time, job in made]

    assert some(1) == some(1)
    assert some(1) != some(2)


@pytest.mark.parametrize(("text", "mean"), [("512", 512), ("exponential:300", 300), ("lognormal:300:1.0", 300)])
def test_lengths_have_their_mean(text: str, mean: float) -> None:
    length, random = parse(text), Random(3)
    assert length.mean == mean
    drawn = [length.draw(random) for _ in range(40_000)]
    assert fmean(drawn) == pytest.approx(mean, rel=0.03)
    assert min(drawn) >= 1


@pytest.mark.parametrize("text", ["", "x", "1.5", "exponential", "exponential:-1", "lognormal:3", "lognormal:nan:1"])
def test_other_lengths_are_refused(text: str) -> None:
    with pytest.raises(LengthError, match="is no length"):
        parse(text)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_trace_of_our_own(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "arrival,prompt_tokens,output_tokens", "10,5,7", "12.5,0,0")
    assert [(at, job.prompt, job.tokens) for at, job in trace.read(path, 1)] == [(0.0, 5, 7.0), (2.5, 0, 1.0)]
    assert [at for at, _ in trace.read(path, 1, speed=2.0)] == [0.0, 1.25]


def test_azures_form(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens",
        "2023-11-16 18:15:46.6805900,374,44",
        "2023-11-16 18:15:50.9951690,396,109",
        "2023-11-16 18:16:00,879,55",
    )
    found = list(trace.read(path, 1))
    assert [at for at, _ in found] == pytest.approx([0.0, 4.314579, 13.31941], abs=1e-5)
    assert [(job.prompt, job.tokens) for _, job in found] == [(374, 44.0), (396, 109.0), (879, 55.0)]


def test_azures_later_form(tmp_path: Path) -> None:
    """That of 2024 has an offset, and whole microseconds."""
    path = write(
        tmp_path / "t.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens",
        "2024-05-10 00:00:00.009930+00:00,2162,5",
        "2024-05-10 00:00:00.017335+00:00,2399,6",
    )
    assert [at for at, _ in trace.read(path, 1)] == pytest.approx([0.0, 0.007405], abs=1e-6)


def test_the_example_is_a_trace() -> None:
    found = list(trace.read(REPOSITORY / "examples" / "trace.csv", 1))
    assert len(found) == 120
    assert found[-1][0] > 60.0


OWN = ",".join(trace.OWN)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b", "1,2"], "t.csv:1: has neither"),
        ([OWN, "1,x,2"], "t.csv:2: prompt_tokens: 'x' is no whole number of tokens"),
        ([OWN, "1,2"], "t.csv:2: output_tokens: is missing"),
        ([OWN, "2,1,1", "1,1,1"], "t.csv:3: arrival: is earlier than the line before"),
        ([OWN, "2,1,-1"], "t.csv:2: output_tokens: '-1' is no whole number of tokens"),
        ([OWN, "2,1,1.5"], "t.csv:2: output_tokens: '1.5' is no whole number of tokens"),
        ([OWN, "2,1,1_0"], "t.csv:2: output_tokens: '1_0' is no whole number of tokens"),
        ([OWN, "2,1,1", f"2,1{'0' * 23},1"], "t.csv:3: prompt_tokens: '10+' is more than 1,000,000,000 tokens"),
        ([OWN, "2,1,1000000001"], "t.csv:2: output_tokens: '1000000001' is more than 1,000,000,000 tokens"),
        ([OWN, f"2,1,{'9' * 5000}"], "t.csv:2: output_tokens: '9{40}' is more than 1,000,000,000 tokens"),
        ([OWN, "nan,1,1"], "t.csv:2: arrival: 'nan' is no finite number of seconds"),
        ([OWN, "1e999,1,1"], "t.csv:2: arrival: '1e999' is no finite number of seconds"),
        ([OWN, "soon,1,1"], "t.csv:2: arrival: 'soon' is neither seconds nor a date"),
        ([OWN, "0,1,1", "1e300,1,1"], "t.csv:3: arrival: is more than 100 years after the first"),
        ([OWN, f"1,1,{'9' * 200_000}"], "t.csv: field larger than"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        list(trace.read(write(tmp_path / "t.csv", *lines), 1))


def test_the_largest_numbers_that_are_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", OWN, f"0,{trace.MOST_TOKENS},{trace.MOST_TOKENS:020}", "2 , 3 , 4")
    assert [(job.prompt, job.tokens) for _, job in trace.read(path, 1)] == [(10**9, 1e9), (3, 4.0)]


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        list(trace.read(tmp_path / "none.csv", 1))
