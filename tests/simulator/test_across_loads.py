"""What the policy `adaptive` learns under one load holds for the next, on engines that are not as fast every time."""

from collections import Counter
from collections.abc import Iterable
from math import exp
from random import Random

import pytest

from enginebench import simulated
from gateway.routing import AdaptiveSettings
from gateway.simulator.adaptive import Adaptive
from gateway.simulator.agenda import Agenda
from gateway.simulator.engine import Job
from gateway.simulator.fleet import Fleet, Site
from gateway.simulator.lengths import parse
from gateway.simulator.load import Arrive, Requests
from gateway.simulator.simulation import Names, Plan, Run
from tests.simulator.test_routed import ALONE, read

LEVELS = (1, 2, 10, 20, 40, 70, 128)
# Whether requests begin in the same step or apart makes SGLang's engines faster or slower by as much, for a whole cell.
SPREAD = 0.1


class Cells:
    """Clients at each level in turn, as `enginebench sweep` has them; `shares`: of each cell, what was drafted."""

    def __init__(self, cells: Iterable[tuple[int, int]], pause: float, seed: int) -> None:
        """`cells`: clients, and how often each asks; `pause`: seconds before each cell."""
        self._cells, self._pause = iter(cells), pause
        self._requests, self._random = Requests(seed, parse("100"), parse("256")), Random(seed)
        self._agenda = Agenda()
        self._arrive: Arrive | None = None
        self._clients, self._left = 0, 0
        self._open = simulated.Clients(0, 0, self._requests)
        self._pools: Counter[str] = Counter()
        self.fleet: Fleet | None = None
        self.shares: list[tuple[int, float]] = []

    def start(self, agenda: Agenda, arrive: Arrive) -> None:
        self._agenda, self._arrive = agenda, arrive
        self._next()

    def over(self, job: Job) -> None:
        assert job.replica is not None
        self._open.over(job)
        self._pools[job.replica.role] += 1
        self._left -= 1
        if not self._left:
            self.shares.append((self._clients, self._pools["speculative"] / self._pools.total()))
            self._agenda.at(self._agenda.now, self._next)

    def _next(self) -> None:
        cell = next(self._cells, None)
        if cell is None:
            self._agenda.stopped = True
            return
        self._clients, each = cell
        self._open, self._left = simulated.Clients(*cell, self._requests), self._clients * each
        self._pools.clear()
        self._agenda.at(self._agenda.now + self._pause, self._begin)

    def _begin(self) -> None:
        assert self.fleet is not None
        assert self._arrive is not None
        for pool in self.fleet.pools.values():
            for replica in pool.replicas:
                replica.scale = exp(self._random.gauss(0.0, SPREAD)) if self._clients > 1 else 1.0
        self._open.start(self._agenda, self._arrive)


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("name", ALONE)
def test_few_requests_draft_after_many(name: str, seed: int) -> None:
    """With 40 to 128 at once the engine that drafts is the slower one. With one it is faster by a fourth and more."""
    alone = [cell for folder in ALONE[name] for cell in read(folder)]
    site = Site(simulated.engine(alone, "speculative", 2.2), simulated.engine(alone, "baseline", None))
    arm = Adaptive("adaptive:balanced", AdaptiveSettings().weight, shared=False, most=128, seed=seed)
    taught = [(level, max(8 // level, 2)) for level in LEVELS]
    source = Cells(taught + [(level, max(8 // level, 4)) for level in LEVELS], pause=3.0, seed=seed)
    run = Run(site, source, arm, Plan(requests=10**9, warm_up=0.0))
    source.fleet = run.fleet
    run.go(Names("h200", "levels"))
    again = dict(source.shares[len(LEVELS) :])
    assert again[1] >= 0.75
    assert again[128] <= 0.5
