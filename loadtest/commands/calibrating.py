"""Finds the crossing by two sweeps over the pinned pools: one over all levels, one between the two around it."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from loadtest import records, report
from loadtest.calibrate import MOST_BETWEEN
from loadtest.commands.planning import load_plan
from loadtest.commands.server import server
from loadtest.commands.sweeping import Measurement, measure, rejudge
from loadtest.stats import Crossover
from loadtest.stats.compare import figure, gain
from loadtest.stats.crossover import BASELINE, SPECULATIVE
from loadtest.sweep import Plan, SweepError, default_arms, parse_levels
from loadtest.threshold import set_threshold


def run(args: argparse.Namespace) -> int:
    """Measures, shows the evidence and the threshold, and writes what is asked for."""
    plan = load_plan(args, [arm for arm in default_arms() if arm.pool], parse_levels(args.levels))
    found = _measured(args, plan)
    crossover = found.verdict.crossover
    if crossover is None:
        raise SweepError("no level has requests that succeeded in both pools")
    print(f"\n{evidence(found)}\n")
    if args.out is not None:
        records.write(found, args.out)
        report.write(found, args.out)
    if crossover.threshold is None:
        return 1
    alike = f" (as good by this run: {crossover.alike})" if crossover.alike is not None else ""
    print(f"policy.threshold: {crossover.threshold}{alike}")
    if args.write is not None:
        was = set_threshold(args.write, found.model, crossover.threshold)
        print(f"{args.write}: threshold {was if was is not None else 'not set'} -> {crossover.threshold}{alike}")
    return 0


def _measured(args: argparse.Namespace, plan: Plan) -> records.Results:
    place = server(args)
    found = measure(Measurement(place, lambda _: plan, note=args.note))
    crossover = found.verdict.crossover
    between = levels_between(plan.levels, crossover) if found.complete and crossover else ()
    if between:
        finer = measure(Measurement(place, lambda _: replace(plan, levels=between, warmup=1), note=args.note))
        found.cells += finer.cells
        found.complete = finer.complete
        found.plan["levels"] = sorted({*plan.levels, *between})
        rejudge(found)
    return found


def levels_between(levels: Sequence[int], crossover: Crossover) -> tuple[int, ...]:
    """Levels to measure next: a few, spread evenly between those on either side of the crossing."""
    if crossover.at is None:
        return ()
    # Counted over all replicas, as levels are.
    below = max(
        (level for level, ratio in zip(crossover.levels, crossover.ratios, strict=True) if ratio >= 1), default=1
    )
    above = min((level for level in levels if level > below), default=below)
    inside = range(below + 1, above)
    if len(inside) <= MOST_BETWEEN:
        return tuple(inside)
    step = (above - below) / (MOST_BETWEEN + 1)
    return tuple(sorted({round(below + step * (number + 1)) for number in range(MOST_BETWEEN)}))


def evidence(found: records.Results) -> str:
    """Each level's figures, and what follows from them."""
    crossover = found.verdict.crossover
    lines = ["at once  speculative tok/s  baseline tok/s  ratio (over the repeats)"]
    for level in crossover.levels if crossover else ():
        one = gain(found.cells, SPECULATIVE, BASELINE, level)
        rates = [figure(found.cells, arm, level, lambda cell: cell.throughput) for arm in (SPECULATIVE, BASELINE)]
        first, second = (f"{rate.median:.1f}" if rate else "none" for rate in rates)
        lines.append(f"{level:7d}  {first:>17s}  {second:>14s}   {one.throughput if one else ''}")
    return "\n".join([*lines, "", *found.verdict.sentences, *(f"Doubt: {doubt}" for doubt in found.verdict.doubts)])
