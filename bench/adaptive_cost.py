"""`python -m bench.adaptive_cost`: what the policy `adaptive` costs a request, in microseconds of CPU.

Deciding, and learning from its end; and what a fit costs, of which there is one a second. The best of several runs:
what else the machine does only adds to it.
"""

import sys
from collections.abc import Callable
from itertools import pairwise
from random import Random
from time import process_time

from gateway.learning import Learning, LearningSettings, Observation, Shares
from gateway.routing import AdaptiveSettings, AdaptiveState, Arrival, ModelLoad, PoolLoad, Role, decide

REQUESTS, RUNS = 4000, 7
LOAD = ModelLoad(PoolLoad(5, 1, True, True), PoolLoad(40, 2, True, True))


def main() -> int:
    """Exit status: 0."""
    learning, sharing, seen = Learning(LearningSettings()), Learning(LearningSettings()), list(_seen())
    # What several gateways tell each other is kept apart from what they go by.
    Shares(sharing, "one")
    roles: tuple[Role, Role] = ("speculative", "baseline")
    end = seen[-1].at
    for one in seen:
        for role in roles:
            learning.observe(role, one)
            sharing.observe(role, one)
    curves = learning.curves(end)
    sharing.curves(end)

    def observing(here: Learning) -> Callable[[], None]:
        def run() -> None:
            for one in seen:
                here.observe("speculative", one)

        return run

    def deciding(settings: AdaptiveSettings) -> Callable[[], None]:
        def run() -> None:
            state = AdaptiveState()
            for number in range(REQUESTS):
                arrival = Arrival(end + number * 0.01, 0.9, 200.0, (0.0, 100.0))
                _, state = decide(LOAD, *curves, state, settings, arrival)

        return run

    def fitting() -> None:
        for number in range(REQUESTS // 40):
            learning.observe("speculative", seen[-1])
            learning.observe("baseline", seen[-1])
            learning.curves(end + 2.0 * (number + 1))

    rows = {
        "decide": _best(deciding(AdaptiveSettings())) / REQUESTS,
        "decide, shared hardware": _best(deciding(AdaptiveSettings(shared_hardware=True))) / REQUESTS,
        "learn from its end": _best(observing(learning)) / REQUESTS,
        "learn, to tell others too": _best(observing(sharing)) / REQUESTS,
    }
    for name, seconds in rows.items():
        print(f"{name:26} {seconds * 1e6:6.2f} µs")
    started = process_time()
    fitting()
    print(f"{'fit both curves':26} {(process_time() - started) / (REQUESTS // 40) * 1e6:6.0f} µs, once a second")
    return 0


def _best(work: Callable[[], None]) -> float:
    marks = [process_time()]
    for _ in range(RUNS):
        work()
        marks.append(process_time())
    return min(after - before for before, after in pairwise(marks))


def _seen() -> list[Observation]:
    random = Random(1)
    observations = []
    for number in range(REQUESTS):
        inflight = random.uniform(1, 40)
        seconds = (5.0 + 0.1 * inflight) / 1000 * 255 * random.lognormvariate(0, 0.15)
        observations.append(
            Observation(
                number * 0.05, 256, seconds, inflight, 120, 200, random.uniform(0.1, 0.2), random.uniform(2e2, 5e3)
            )
        )
    return observations


if __name__ == "__main__":
    sys.exit(main())
