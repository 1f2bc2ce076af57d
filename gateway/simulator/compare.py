"""Many runs: every policy under every load, in as many processes as wanted, and how far each is from the oracle."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from typing import NamedTuple

from gateway.simulator import catalogue, specs
from gateway.simulator.curves import with_prompts
from gateway.simulator.fleet import Site
from gateway.simulator.lengths import parse
from gateway.simulator.load import Requests
from gateway.simulator.measures import Result
from gateway.simulator.sharing import Sharing
from gateway.simulator.simulation import Names, Plan, simulate

ORACLE = "oracle"


class Case(NamedTuple):
    """One run by the words of the command line. Lengths None: those that the curves were measured with."""

    curves: str
    load: str
    policy: str
    plan: Plan = Plan()
    seed: int = 1
    replicas: tuple[int, int] = (1, 1)
    max_inflight: int = 128
    shared: Sharing | None = None
    prompt: str | None = None
    output: str | None = None


def run(case: Case) -> Result:
    """Run one.

    Raises:
        CatalogueError, LengthError, TraceError: as of `catalogue.find`, `lengths.parse` and `trace.read`.
    """
    curves = catalogue.find(case.curves)
    site = Site(
        curves.speculative,
        curves.baseline,
        case.replicas,
        case.max_inflight,
        curves.shared if case.shared is None else case.shared,
    )
    prompt, output = parse(case.prompt or str(curves.prompt), least=0), parse(case.output or str(curves.output))
    source = specs.source(case.load, Requests(case.seed, prompt, output), case.seed)
    known = site._replace(
        speculative=with_prompts(site.speculative, prompt.mean, output.mean),
        baseline=with_prompts(site.baseline, prompt.mean, output.mean),
    )
    return simulate(site, source, specs.arm(case.policy, known, case.seed), case.plan, Names(curves.name, case.load))


def run_all(cases: Sequence[Case], jobs: int = 1) -> Iterator[Result]:
    """Run all, `jobs` at a time; the results in the order of the cases, without regret."""
    if jobs == 1 or len(cases) == 1:
        yield from map(run, cases)
        return
    with ProcessPoolExecutor(min(jobs, len(cases))) as pool:
        yield from pool.map(run, cases)


def with_regret(results: Sequence[Result]) -> list[Result]:
    """The same, with what each did worse than the oracle under the same load."""
    found = []
    for (_, load), group in groupby(results, key=lambda result: (result.curves, result.load)):
        together = list(group)
        oracle = next((_worth(result, load) for result in together if result.policy == ORACLE), None)
        for result in together:
            regret = 1.0 - _worth(result, load) / oracle if oracle else None
            found.append(result._replace(regret=regret))
    return found


def _worth(result: Result, load: str) -> float:
    """What a policy is judged by: throughput in a closed loop; where arrivals are given, how soon requests are done.

    In a closed loop both are the same (Little's law).
    """
    if specs.is_closed(load):
        return result.throughput
    return 1.0 / result.duration_mean if result.duration_mean else 0.0
