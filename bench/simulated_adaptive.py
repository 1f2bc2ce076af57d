"""`python -m bench.simulated_adaptive`: the policy `adaptive` in the simulator, against what is asked of it.

Three parts, as tables of Markdown: `levels` (each curve set, at each level that it was measured at), `steps`
(acceptance falls from 2.2 tokens to 1.3 and returns), `changes` (how often it changes its mind in an hour of steady
load on shared hardware).
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean

from gateway.simulator import catalogue, compare, specs
from gateway.simulator.catalogue import CurveSet
from gateway.simulator.compare import Case
from gateway.simulator.measures import Look, Result
from gateway.simulator.sharing import Sharing
from gateway.simulator.simulation import Plan, Step

OBJECTIVES = ("latency", "balanced", "throughput")
FIXED = [
    *(f"spill:{threshold}" for threshold in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96)),
    *(f"switch:{threshold}" for threshold in (2, 3, 5, 10, 20, 40)),
]
OF_ORACLE, OF_FIXED = 0.97, 0.98
# From the eleventh minute on: what was learned by then is what a server goes by most of its time. For five minutes, or
# as long as the faster engine alone takes for so many requests: of fifty, two or none explore, and one answer's length
# is 2% of all tokens.
LEARNING, LEAST, REQUESTS = 600.0, 300.0, 1000
FALL, RETURN, END, EVERY = 600.0, 1200.0, 1800.0, 5.0
FEW = 6
POOLS = "pinned:speculative", "pinned:baseline"
SWITCHES = "switch:5", "switch:10", "switch:20"

_say = partial(print, flush=True)


def levels(names: Iterable[str], jobs: int, shared: Sharing | None, seed: int) -> list[str]:
    """Prints a table; returns what misses its target."""
    missed = []
    _say("| curves | clients | latency | balanced | throughput | best fixed | balanced, of its tok/s | throughput |")
    _say("| --- | --- | --- | --- | --- | --- | --- | --- |")
    adaptive = [f"{policy}:{objective}" for policy in ("adaptive", "oracle") for objective in OBJECTIVES]
    for name in names:
        curves = catalogue.find(name)
        output = f"exponential:{curves.output}"
        for level in curves.levels:
            load, plan = f"closed:{level}", _learned(curves, level)
            cases = [
                Case(name, load, policy, plan, seed, output=output, shared=shared) for policy in (*FIXED, *adaptive)
            ]
            found = {result.policy: result for result in compare.run_all(cases, jobs)}
            best = max((found[policy] for policy in FIXED), key=lambda result: result.throughput)
            of_oracle = {objective: _of_oracle(found, objective) for objective in OBJECTIVES}
            of_fixed = {
                objective: found[f"adaptive:{objective}"].throughput / best.throughput for objective in OBJECTIVES[1:]
            }
            first, second = (" | ".join(f"{share:.3f}" for share in of.values()) for of in (of_oracle, of_fixed))
            _say(f"| {name} | {level} | {first} | {best.policy} | {second} |")
            for of, least, whom in ((of_oracle, OF_ORACLE, "its oracle"), (of_fixed, OF_FIXED, best.policy)):
                for objective, share in of.items():
                    if share < least:
                        missed.append(f"{name} at {level}: {objective} has {share:.3f} of {whom}")
    return missed


def _learned(curves: CurveSet, level: int) -> Plan:
    """The same for all policies, so that they are compared over the same minutes."""
    fastest = level * max(curves.speculative.rate(level), curves.baseline.rate(level))
    seconds = max(LEAST, REQUESTS * curves.output / fastest)
    return Plan(10**9, LEARNING + seconds, LEARNING / (LEARNING + seconds))


def _of_oracle(found: dict[str, Result], objective: str) -> float:
    """By throughput; for latency by how fast requests were, in the mean."""
    adaptive, oracle = found[f"adaptive:{objective}"], found[f"oracle:{objective}"]
    if objective == "latency":
        return adaptive.speed_mean / oracle.speed_mean
    return adaptive.throughput / oracle.throughput


def steps(names: Iterable[str], jobs: int, shared: Sharing | None, seed: int) -> list[str]:
    """As `levels`."""
    missed = []
    plan = Plan(10**9, END, 0.0, EVERY, (Step(FALL, 1.3), Step(RETURN, 2.2)))
    _say("| curves | load | policy | before | 60 to 120 s after the fall | after the return | within 5% after |")
    _say("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        curves = catalogue.find(name)
        if curves.speculative.accept_length != 2.2:
            continue
        for level in [level for level in curves.levels if 2 <= level <= 40]:
            policies = [f"{policy}:{objective}" for objective in OBJECTIVES[1:] for policy in ("adaptive", "oracle")]
            cases = [
                Case(name, f"closed:{level}", policy, plan, seed, output=f"exponential:{curves.output}", shared=shared)
                for policy in policies
            ]
            found = {result.policy: result for result in compare.run_all(cases, jobs)}
            for objective in OBJECTIVES[1:]:
                looks, best = found[f"adaptive:{objective}"].looks, found[f"oracle:{objective}"].looks
                before = _share(looks, best, FALL - 300.0, FALL)
                after = [_share(looks, best, at + 60.0, at + 120.0) for at in (FALL, RETURN)]
                soon = [_recovered(looks, best, at) for at in (FALL, RETURN)]
                times = " and ".join(f"{seconds:.0f} s" if seconds < END else "never" for seconds in soon)
                cells = " | ".join(f"{share:.3f}" for share in (before, *after))
                _say(f"| {name} | closed:{level} | {objective} | {cells} | {times} |")
                if min(after) < 0.95:
                    missed.append(f"{name} at {level}: {objective} is {min(after):.3f} of its oracle 60 s after a step")
    return missed


def _share(looks: Sequence[Look], best: Sequence[Look], since: float, until: float) -> float:
    def mean(some: Sequence[Look]) -> float:
        return fmean(look.speculative + look.baseline for look in some if since < look.time <= until)

    return mean(looks) / mean(best)


def _recovered(looks: Sequence[Look], best: Sequence[Look], step: float) -> float:
    """Seconds after a step from which three half-minutes in a row are within 5% of the oracle's, and 2% of noise."""
    of: Callable[[float, float], float] = partial(_share, looks, best)
    seconds = 0.0
    while seconds <= 300.0:
        if all(of(step + at, step + at + 30.0) >= 0.93 for at in (seconds, seconds + 30.0, seconds + 60.0)):
            return seconds
        seconds += EVERY
    return END


def changes(names: Iterable[str], jobs: int, seed: int) -> list[str]:
    """As `levels`."""
    missed = []
    plan = Plan(10**9, 5400.0, 1.0 / 3.0)
    _say("| curves, one piece of hardware | load | changes in an hour | of the oracle | of one pool | of a switch |")
    _say("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        curves = catalogue.find(name)
        loads = [f"closed:{level}" for level in (2, 5, 10, 20)]
        for level in (5, 20):
            rate = level * curves.baseline.rate(level) / curves.output
            loads.append(f"poisson:{0.8 * rate:.2f}")
        for load in loads:
            policies = ["adaptive:balanced", "oracle", *POOLS, *SWITCHES]
            cases = [
                Case(name, load, policy, plan, seed, output=f"exponential:{curves.output}", shared="time")
                for policy in policies
            ]
            found = {result.policy: result for result in compare.run_all(cases, jobs)}
            ours = found["adaptive:balanced"]
            oracle, alone, switch = (
                min(found[policy].duration_mean for policy in some) / ours.duration_mean
                for some in (("oracle",), POOLS, SWITCHES)
            )
            _say(f"| {name} | {load} | {ours.changes} | {oracle:.3f} | {alone:.3f} | {switch:.3f} |")
            if ours.changes > FEW:
                missed.append(f"{name}, {load}: {ours.changes} changes in an hour")
            if oracle < OF_ORACLE:
                missed.append(f"{name}, {load}: on shared hardware {oracle:.3f} of the oracle")
    return missed


def main() -> int:
    """Exit status 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulated_adaptive", description=__doc__)
    parser.add_argument("part", choices=("levels", "steps", "changes"))
    parser.add_argument("--curves", action="append", help="a curve set; by default all")
    parser.add_argument("--shared", type=specs.sharing, help="as of spillway simulate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    names = args.curves or list(catalogue.shipped())
    if args.part == "changes":
        missed = changes(names, args.jobs, args.seed)
    else:
        missed = (levels if args.part == "levels" else steps)(names, args.jobs, args.shared, args.seed)
    _say("\nMissed:" if missed else "\nEvery target is met.")
    for line in missed:
        _say(f"- {line}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
