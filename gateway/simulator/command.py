"""`spillway simulate`, from options to files."""

import argparse
import importlib.util
import sys
from itertools import product
from typing import TypeVar

from gateway.simulator import catalogue, compare, report, specs
from gateway.simulator.compare import Case
from gateway.simulator.curves import CurveError
from gateway.simulator.lengths import LengthError, parse
from gateway.simulator.measures import Objectives, Result
from gateway.simulator.simulation import Plan
from gateway.simulator.trace import TraceError

N = TypeVar("N", int, float)

DEFAULT_CURVES = "h200-flashinfer-tree"
DEFAULT_POLICIES = "pinned,spill:5,switch:5,oracle"


class OptionError(ValueError):
    """Options that make no sense. The message names the option."""


def run(args: argparse.Namespace) -> int:
    """Exit status: 2 for options that make no sense, 1 if a file can't be written."""
    try:
        if args.list:
            _list()
            return 0
        cases = _cases(args)
        if args.plot and importlib.util.find_spec("matplotlib") is None:
            raise OptionError("--plot needs matplotlib: in the checkout, pip install '.[simulate]'")
        results = compare.with_regret(list(compare.run_all(cases, args.jobs)))
        print(report.table(results))
        _write(args, results)
    except (OptionError, specs.SpecError, catalogue.CatalogueError, CurveError, LengthError, TraceError) as error:
        print(f"spillway simulate: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"spillway simulate: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _list() -> None:
    for name, curves in catalogue.shipped().items():
        print(f"{name}\n  levels {', '.join(map(str, curves.levels))}\n  {curves.source}")


def _cases(args: argparse.Namespace) -> list[Case]:
    plan = Plan(
        requests=_at_least("--requests", args.requests, 1),
        seconds=_at_least("--seconds", args.seconds, 0.0),
        warm_up=_share("--warm-up", args.warm_up),
        looks=_at_least("--timeline", args.timeline, 0.0),
        steps=specs.steps(args.step),
        objectives=Objectives(args.slo_ttft, args.slo_speed),
    )
    _at_least("--jobs", args.jobs, 1)
    shared = None if args.shared is None else specs.sharing(args.shared)
    for length, least in ((args.prompt, 0), (args.output, 1)):
        if length:
            parse(length, least)
    policies = specs.policies(args.policies or [DEFAULT_POLICIES])
    cases = []
    for name in args.curves or [DEFAULT_CURVES]:
        curves = catalogue.find(name)
        default = [f"closed:{level}" for level in curves.levels]
        for load, policy in product(specs.loads(args.load) if args.load else default, policies):
            cases.append(
                Case(
                    name,
                    load,
                    policy,
                    plan,
                    args.seed,
                    _replicas(args.replicas),
                    _at_least("--max-inflight", args.max_inflight, 1),
                    shared,
                    args.prompt,
                    args.output,
                )
            )
    return cases


def _replicas(text: str) -> tuple[int, int]:
    speculative, _, baseline = text.partition("x")
    if not (speculative.isdecimal() and baseline.isdecimal() and int(speculative) > 0 and int(baseline) > 0):
        raise OptionError(f"--replicas {text}: two numbers from 1 on, as 2x6")
    return int(speculative), int(baseline)


def _at_least(option: str, value: N, least: N) -> N:
    if not value >= least:
        raise OptionError(f"{option} {value}: {least} or more")
    return value


def _share(option: str, value: float) -> float:
    if not 0.0 <= value < 1.0:
        raise OptionError(f"{option} {value}: from 0 to below 1")
    return value


def _write(args: argparse.Namespace, results: list[Result]) -> None:
    if args.json:
        with args.json.open("w", encoding="utf-8") as out:
            report.write_json(results, out)
    if args.csv:
        with args.csv.open("w", encoding="utf-8", newline="") as out:
            report.write_csv(results, out)
    if args.plot:
        from gateway.simulator.plots import draw

        draw(args.plot, results)
