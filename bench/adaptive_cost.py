"""`python -m bench.adaptive_cost`: what the policy `adaptive` costs a request, in microseconds of CPU.

Deciding, and learning from its end; and what a fit costs, of which there is one a second. The best of several runs:
what else the machine does only adds to it.
"""

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from time import process_time

from gateway.learning import Learning, LearningSettings, Observation, Shares
from gateway.routing import ROLES, AdaptiveSettings, AdaptiveState, Arrival, Curve, ModelLoad, PoolLoad, decide

REQUESTS, RUNS, FITS = 4000, 7, 100
LOAD = ModelLoad(PoolLoad(5, 1, True, True), PoolLoad(40, 2, True, True))


def main() -> int:
    """Exit status: 0."""
    many, few = _seen(0.05), _seen(1.0)
    learning, sharing, slow = _learned(many), _learned(many, told=True), _learned(few)
    curves = learning.curves(many[-1].at)
    rows = {
        "decide": _best(_deciding(curves, AdaptiveSettings())),
        "decide, shared hardware": _best(_deciding(curves, AdaptiveSettings(shared_hardware=True))),
        "learn from its end": _best(_observing(learning, many)),
        "learn, to tell others too": _best(_observing(sharing, many)),
        "learn, one a second": _best(_observing(slow, few)),
    }
    for name, seconds in rows.items():
        print(f"{name:26} {seconds / REQUESTS * 1e6:6.2f} µs")
    started = process_time()
    _fit(learning, many[-1]._replace(at=many[-1].at * (RUNS + 1)))
    print(f"{'fit both curves':26} {(process_time() - started) / FITS * 1e6:6.0f} µs, once a second")
    return 0


def _learned(seen: Sequence[Observation], *, told: bool = False) -> Learning:
    """By both pools; `told`: with other gateways to tell of it."""
    learning = Learning(LearningSettings())
    if told:
        Shares(learning, "one")
    for one in seen:
        for role in ROLES:
            learning.observe(role, one)
    learning.curves(seen[-1].at)
    return learning


def _observing(learning: Learning, seen: Sequence[Observation]) -> Callable[[], None]:
    lasts = seen[-1].at
    later = iter([[one._replace(at=one.at + turn * lasts) for one in seen] for turn in range(1, RUNS + 1)])

    def run() -> None:
        for one in next(later):
            learning.observe("speculative", one)

    return run


def _deciding(curves: tuple[Curve, Curve], settings: AdaptiveSettings) -> Callable[[], None]:
    start = curves[0].newest

    def run() -> None:
        state = AdaptiveState()
        for number in range(REQUESTS):
            arrival = Arrival(start + number * 0.01, 0.9, 200.0, (0.0, 100.0))
            _, state = decide(LOAD, *curves, state, settings, arrival)

    return run


def _fit(learning: Learning, last: Observation) -> None:
    for number in range(FITS):
        for role in ROLES:
            learning.observe(role, last)
        learning.curves(last.at + 2.0 * (number + 1))


def _best(work: Callable[[], None]) -> float:
    marks = [process_time()]
    for _ in range(RUNS):
        work()
        marks.append(process_time())
    return min(after - before for before, after in pairwise(marks))


def _seen(every: float) -> list[Observation]:
    """One every so many seconds."""
    random = Random(1)
    observations = []
    for number in range(REQUESTS):
        inflight = random.uniform(1, 40)
        seconds = (5.0 + 0.1 * inflight) / 1000 * 255 * random.lognormvariate(0, 0.15)
        observations.append(
            Observation(
                number * every, 256, seconds, inflight, 120, 200, random.uniform(0.1, 0.2), random.uniform(2e2, 5e3)
            )
        )
    return observations


if __name__ == "__main__":
    sys.exit(main())
