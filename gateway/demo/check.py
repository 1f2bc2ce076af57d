"""What `spillway demo --check` asserts, as pure functions of what was measured."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.demo.traffic import Level, Sample


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the demo shows; `problem` is empty when it held."""

    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything a run of the demo leaves to judge."""

    threshold: int
    levels: Sequence[Level]  # routed by the policy
    pinned: Sequence[Level]  # each of one pool by request
    looks: int  # at /status, during the levels
    peak: int  # of the speculative pool's in-flight in those looks
    over_limit: int  # looks that saw a pool over its limit
    unanswered: int  # looks without an answer
    inflight_after: Mapping[str, int]
    requests: Mapping[tuple[str, str], int]  # the gateway's own count, by pool and status code

    @property
    def samples(self) -> list[Sample]:
        """Every request that was sent."""
        return [sample for level in (*self.pinned, *self.levels) for sample in level.samples]


def claims(run: Measured) -> list[Claim]:
    """Each thing the demo shows, with what was wrong if it did not hold."""
    return [
        Claim("no request failed", _failures(run)),
        Claim(f"with {run.threshold} clients or fewer every request went to the speculative pool", _below(run)),
        Claim(f"with more than {run.threshold} clients the excess went to the baseline pool", _above(run)),
        Claim(f"the speculative pool never held more than {run.threshold} (looked {run.looks} times)", _limit(run)),
        Claim("nothing was left in flight", _left_over(run)),
        Claim(f"the gateway's metrics count the same {len(run.samples)} requests as its clients", _counts(run)),
    ]


def _failures(run: Measured) -> str:
    failed = [sample.error for sample in run.samples if sample.error]
    return f"{len(failed)} of {len(run.samples)} did, the first with: {failed[0]}" if failed else ""


def _below(run: Measured) -> str:
    strays = [
        f"with {level.concurrency} clients one went to {sample.pool or 'no pool'} ({sample.reason or sample.error})"
        for level in run.levels
        for sample in level.samples
        if level.concurrency <= run.threshold and sample.pool != "speculative"
    ]
    return strays[0] if strays else ""


def _above(run: Measured) -> str:
    for level in run.levels:
        if level.concurrency > run.threshold:
            pools = {sample.pool for sample in level.samples}
            for pool in ("speculative", "baseline"):
                if pool not in pools:
                    return f"with {level.concurrency} clients no request went to the {pool} pool"
    return ""


def _limit(run: Measured) -> str:
    if not run.looks:
        return "/status could not be read while requests ran"
    if run.unanswered:
        return f"/status did not answer {run.unanswered} times"
    if run.over_limit or run.peak > run.threshold:
        return f"/status showed {run.peak} in flight there, over its limit {run.over_limit} times"
    return ""


def _left_over(run: Measured) -> str:
    left = {pool: number for pool, number in run.inflight_after.items() if number}
    return f"/status still shows {left}" if left else ""


def _counts(run: Measured) -> str:
    sent = Counter((sample.pool, "200") for sample in run.samples if not sample.error)
    if dict(sent) == dict(run.requests):
        return ""
    return f"spillway_requests_total has {_show(run.requests)}, the clients saw {_show(sent)}"


def _show(counts: Mapping[tuple[str, str], int]) -> str:
    return ", ".join(f"{pool} {code}: {number}" for (pool, code), number in sorted(counts.items())) or "none"
