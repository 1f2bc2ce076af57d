"""What samples say of users that come and go, with no second arm beside them: figures by kind of request, and words.

With one arm there is nothing to compare: no gain, no crossing, no target but that nothing fails.
"""

from collections.abc import Iterator, Mapping, Sequence

from loadtest.client import Sample
from loadtest.stats.cells import Cell, Generator, summarise
from loadtest.stats.numbers import Quantiles
from loadtest.stats.verdict import Target, Verdict, doubts

ALL = "all"


def by_kind(samples: Mapping[str, Sequence[Sample]], generator: Generator) -> list[Cell]:
    """A cell for all samples together, then one for each kind. Their level is the most that were there at once.

    Throughput is over the time from the first request to the end of the last of all of them.
    """
    everything = [sample for some in samples.values() for sample in some]
    if not everything:
        return []
    began = min(sample.scheduled for sample in everything)
    seconds = max(sample.end for sample in everything) - began
    return [
        summarise(
            some,
            arm=name,
            level=most_at_once(some),
            repeat=0,
            began=min(sample.scheduled for sample in some) - began,
            seconds=seconds,
            generator=generator,
        )
        for name, some in ((ALL, everything), *sorted(samples.items()))
    ]


def changes(samples: Sequence[Sample]) -> list[tuple[float, str, int]]:
    """When a request came to or left a pool, as (time, pool, +1 or -1), in their order. Leaving comes first."""
    found = [(sample.scheduled, sample.pool, 1) for sample in samples]
    found += [(sample.end, sample.pool, -1) for sample in samples]
    return sorted(found, key=lambda change: (change[0], change[2]))


def most_at_once(samples: Sequence[Sample]) -> int:
    """The most requests that were in flight at one time."""
    now = most = 0
    for _, _, step in changes(samples):
        now += step
        most = max(most, now)
    return most


def in_flight(samples: Sequence[Sample], step: float) -> Iterator[tuple[float, dict[str, int]]]:
    """Requests in flight by pool, every `step` seconds from the first request on; \"\" is those that reached none."""
    counts: dict[str, int] = dict.fromkeys(sorted({sample.pool for sample in samples}), 0)
    moves = changes(samples)
    due = 0.0
    for at, pool, change in moves:
        while moves[0][0] + due < at:
            yield due, dict(counts)
            due += step
        counts[pool] += change
    if moves:
        yield due, dict(counts)


def judge_users(cells: Sequence[Cell]) -> Verdict:
    """The verdict on the cells of `by_kind`."""
    failed = sum(cell.failed for cell in cells[1:])
    return Verdict(
        crossover=None,
        comparisons=[],
        targets=[Target("no request failed", failed, passed=failed == 0)],
        sentences=[
            *_words(cells),
            *_failed(cells[1:]),
            "One arm by itself does not show what routing gains: that is what the sweep compares.",
        ],
        doubts=list(doubts(cells[1:])),
    )


def _words(cells: Sequence[Cell]) -> Iterator[str]:
    if not cells:
        yield "No request was made."
        return
    whole, kinds = cells[0], cells[1:]
    yield (
        f"{whole.requests} requests in {whole.seconds:.0f} s, at most {whole.level} at once: "
        f"{whole.throughput:.1f} tokens a second in all, {whole.per_request:.1f} for one request."
    )
    if whole.pools:
        pools, reasons = _shares(whole.pools, whole.ok), _shares(whole.reasons, whole.ok)
        yield f"Of those that succeeded: {pools}; by reason {reasons}."
    if whole.ok:
        yield f"TTFT was {_ms(whole.ttft)}, TPOT {_ms(whole.tpot)}."
    heard = [cell for cell in kinds if cell.ttft.p99]
    if len(heard) > 1:
        worst = max(heard, key=lambda cell: cell.ttft.p99)
        yield f"Longest to the first token, by p99: {worst.arm}, {worst.ttft.p99 * 1000:.0f} ms."


def _failed(kinds: Sequence[Cell]) -> Iterator[str]:
    failed = [cell for cell in kinds if cell.failed]
    if kinds and not failed:
        yield "No request failed."
    for cell in failed:
        yield f"{cell.failed} of {cell.requests} failed of the kind {cell.arm}: {'; '.join(cell.examples)}"


def _ms(times: Quantiles) -> str:
    return f"{times.p50 * 1000:.0f} ms in the median and {times.p99 * 1000:.0f} ms at p99"


def _shares(counts: Mapping[str, int], of: int) -> str:
    return ", ".join(f"{name} {count / of:.0%}" for name, count in sorted(counts.items()))
