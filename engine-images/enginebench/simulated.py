"""What the simulator says of the cells that were routed, from what each engine did alone."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from enginebench.stack import SETS
from gateway.simulator.agenda import Agenda
from gateway.simulator.arms import Arm, Spill, Switch
from gateway.simulator.curves import Measured, model
from gateway.simulator.engine import EngineModel, Job
from gateway.simulator.fleet import Site
from gateway.simulator.lengths import parse
from gateway.simulator.load import Arrive, Requests
from gateway.simulator.simulation import Names, Plan, simulate
from loadtest import records
from loadtest.stats import Cell

_PROMPT, _OUTPUT, _ACCEPTED = 100, 256, 2.2
# As for the curve sets of the package: prefill was not measured apart.
_PREFILL_SECONDS, _PREFILL_RATE, _STALL = 0.004, 40000.0, 1.0
# As `stack` configures the gateway.
_DWELL, _RESUME = 0.5, 0.6


class Clients:
    """`clients` that ask `each` times, one request after the other, as the load test's do in a cell."""

    def __init__(self, clients: int, each: int, requests: Requests) -> None:
        self._clients, self._each, self._requests = clients, each, requests
        self._left: dict[Job, int] = {}
        self._agenda = Agenda()
        self._arrive: Arrive | None = None

    def start(self, agenda: Agenda, arrive: Arrive) -> None:
        """All begin at once."""
        self._agenda, self._arrive = agenda, arrive
        for _ in range(self._clients):
            agenda.at(agenda.now, self._asking(self._each))

    def over(self, job: Job) -> None:
        """Its client asks again, unless that was its last."""
        if left := self._left.pop(job):
            self._agenda.at(self._agenda.now, self._asking(left))

    def _asking(self, left: int) -> Callable[[], None]:
        def ask() -> None:
            assert self._arrive is not None
            job = self._requests.make()
            self._left[job] = left - 1
            self._arrive(job)

        return ask


def run(args: argparse.Namespace) -> int:
    """Print, for each routed cell of a set, what was measured and what is simulated."""
    name: str = args.set
    routed = records.read(args.routed).cells
    print(*table(name, routed, [cell for folder in args.alone for cell in records.read(folder).cells]), sep="\n")
    return 0


def table(name: str, routed: Sequence[Cell], alone: Sequence[Cell]) -> Iterator[str]:
    """`alone`: cells of which those of one pool make its curve; at a level with several, their mean."""
    threshold = SETS[name].threshold
    site = Site(engine(alone, "speculative", _ACCEPTED), engine(alone, "baseline", None))
    arms: dict[str, Callable[[], Arm]] = {
        "spill": lambda: Spill(threshold),
        "switch": lambda: Switch(threshold, _RESUME, _DWELL),
    }
    yield f"| requests at once | {' | '.join(f'{arm} | {arm} simulated | {arm} off by' for arm in arms)} |"
    yield f"| --- |{' --- | --- | --- |' * len(arms)}"
    for level in sorted({cell.level for cell in routed}):
        figures = []
        for arm, make in arms.items():
            cell = next(cell for cell in routed if cell.level == level and cell.arm == arm)
            source = Clients(level, cell.requests // level, Requests(1, parse(str(_PROMPT)), parse(str(_OUTPUT))))
            plan = Plan(requests=cell.requests, warm_up=0.0)
            found = simulate(site, source, make(), plan, Names(name, f"closed:{level}")).throughput
            figures.append(f"{cell.throughput:,.0f} | {found:,.0f} | {found / cell.throughput - 1:+.1%}")
        yield f"| {level} | {' | '.join(figures)} |"


def engine(cells: Sequence[Cell], arm: str, accepted: float | None) -> EngineModel:
    """The engine of this arm by its cells, in the mean at each level. `accepted`: tokens per step, if it drafts."""
    levels = sorted({cell.level for cell in cells if cell.arm == arm})
    totals = {at: fmean(cell.throughput for cell in cells if cell.arm == arm and cell.level == at) for at in levels}
    return model(Measured(totals, _PROMPT, _OUTPUT, _PREFILL_SECONDS, _PREFILL_RATE, _STALL, accepted), 128)
