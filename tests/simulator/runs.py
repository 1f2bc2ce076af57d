"""Short runs for tests."""

from collections.abc import Iterable
from random import Random

from gateway.simulator.agenda import Agenda
from gateway.simulator.arms import Pinned
from gateway.simulator.engine import EngineModel, Job
from gateway.simulator.fleet import Fleet, Site
from gateway.simulator.load import Open
from gateway.simulator.sharing import Sharing

PLAIN = EngineModel([0.0, 100.0, 80.0, 60.0, 40.0])


def shared_evenly(total: float, most: int = 2000) -> EngineModel:
    """A replica that gives so many tokens per second, however many requests it holds: plain processor sharing."""
    return EngineModel([0.0, *(total / held for held in range(1, most + 1))])


def finished(
    jobs: Iterable[tuple[float, Job]],
    model: EngineModel = PLAIN,
    *,
    replicas: int = 1,
    max_inflight: int = 10**9,
    shared: Sharing = "own",
) -> list[Job]:
    """What becomes of requests that come at these times, on the speculative pool alone."""
    agenda, done = Agenda(), list[Job]()
    site = Site(model, model, (replicas, replicas), max_inflight, shared)
    fleet = Fleet(agenda, site, Pinned("speculative"), done.append, lambda _: None)
    Open(jobs).start(agenda, fleet.arrive)
    agenda.run()
    assert fleet.load().inflight == 0
    return done


def poisson(rate: float, count: int, size: str, seed: int = 7) -> list[tuple[float, Job]]:
    """Arrivals of a Poisson process, with work of mean 1: `exponential`, `constant` or `hyper` (a few are long)."""
    random, now = Random(seed), 0.0
    found = []
    for _ in range(count):
        now += random.expovariate(rate)
        if size == "exponential":
            work = random.expovariate(1.0)
        elif size == "constant":
            work = 1.0
        else:
            # Half of the work is in a tenth of the requests.
            work = random.expovariate(0.2) if random.random() < 0.1 else random.expovariate(1.8)
        found.append((now, Job(0, work, random.getrandbits(32))))
    return found
