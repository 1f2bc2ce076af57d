"""One policy under one load, from the first request to the last."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateway.routing import ROLES
from gateway.simulator.agenda import Agenda
from gateway.simulator.arms import Arm
from gateway.simulator.engine import Job
from gateway.simulator.fleet import Fleet, Site
from gateway.simulator.load import Source
from gateway.simulator.measures import Look, Measure, Objectives, Result, result
from gateway.simulator.oracle import Oracle


class Step(NamedTuple):
    """From `time` (seconds) on the traffic accepts `accept_length` tokens a step."""

    time: float
    accept_length: float


class Plan(NamedTuple):
    """How long a run lasts and what is kept of it.

    It ends after `requests` or `seconds`, whichever is first, or with the last of a trace. The share `warm_up` of
    either is left out of the figures. `looks`: seconds between entries of the timeline; 0 for none.
    """

    requests: int = 2000
    seconds: float = float("inf")
    warm_up: float = 0.2
    looks: float = 0.0
    steps: Sequence[Step] = ()
    objectives: Objectives = Objectives()


class Names(NamedTuple):
    """What the result is called by."""

    curves: str
    load: str


class Run:
    """The state of a run; `simulate` is the way to use it."""

    def __init__(self, site: Site, source: Source, arm: Arm, plan: Plan) -> None:
        self.agenda = Agenda()
        self.measure = Measure(plan.objectives)
        self.looks: list[Look] = []
        self._arm, self._plan, self._source = arm, plan, source
        self.fleet = Fleet(self.agenda, site, arm, self._ended, self._refused)
        self._warm_at = int(plan.requests * plan.warm_up)
        self._warm = False
        self._tokens = self._changes = 0.0
        self._last = dict.fromkeys(ROLES, 0.0)
        self._accept = site.speculative.accept_length or 0.0
        for step in plan.steps:
            self.agenda.at(step.time, self._stepping(step.accept_length))
        if plan.looks:
            self.agenda.at(plan.looks, self._look)
        if plan.seconds < float("inf") and plan.warm_up:
            self.agenda.at(plan.seconds * plan.warm_up, self._begin)

    def go(self, names: Names) -> Result:
        """Runs to the end."""
        if not self._plan.warm_up:
            self._begin()
        self._source.start(self.agenda, self.fleet.arrive)
        self.agenda.run(self._plan.seconds)
        changes = int(self._arm.changes - self._changes)
        tokens = self._generated() - self._tokens
        figures = result(
            self.measure,
            tokens,
            self.agenda.now,
            curves=names.curves,
            load=names.load,
            policy=self._arm.name,
            changes=changes,
        )
        return figures._replace(looks=tuple(self.looks))

    def _begin(self) -> None:
        if self._warm:
            return
        self._warm = True
        self.measure.begin(self.agenda.now)
        self._tokens = self._generated()
        self._changes = self._arm.changes

    def _ended(self, job: Job) -> None:
        self.measure.end(job)
        self._source.over(job)
        self._counted()

    def _refused(self, job: Job) -> None:
        self.measure.refuse()
        self._source.over(job)
        self._counted()

    def _counted(self) -> None:
        over = self.measure.ended + self.measure.refused
        if over >= self._warm_at and not self._warm:
            self._begin()
        if over >= self._plan.requests:
            self.agenda.stopped = True

    def _generated(self) -> float:
        return sum(pool.served() for pool in self.fleet.pools.values())

    def _stepping(self, accept_length: float) -> Callable[[], None]:
        def step() -> None:
            self._accept = accept_length
            if isinstance(self._arm, Oracle):
                self._arm.accept(accept_length)
            self.fleet.accept(accept_length)

        return step

    def _look(self) -> None:
        now, every = self.agenda.now, self._plan.looks
        served = {role: pool.served() for role, pool in self.fleet.pools.items()}
        held = {role: pool.inflight for role, pool in self.fleet.pools.items()}
        rates = {role: (served[role] - self._last[role]) / every for role in ROLES}
        self.looks.append(
            Look(
                now,
                rates["speculative"],
                rates["baseline"],
                held["speculative"],
                held["baseline"],
                self._arm.mode,
                self._accept,
            )
        )
        self._last = served
        # The timeline must not keep a run alive that has nothing left to do.
        if self.measure.ended + self.measure.refused == 0 or any(held.values()) or self.fleet.waiting:
            self.agenda.at(now + every, self._look)


def simulate(site: Site, source: Source, arm: Arm, plan: Plan, names: Names) -> Result:
    """The figures of one policy under one load. The same arguments give the same figures."""
    return Run(site, source, arm, plan).go(names)
