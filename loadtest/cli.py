"""The command line: spillway-loadtest sweep | report | locust | prompts."""

import argparse
import json
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from loadtest import report, results
from loadtest.client import BadTargetError
from loadtest.commands import Measurement, add_server_options, measure, server, summary
from loadtest.commands.sweeping import replicas_in_common, with_neighbourhood
from loadtest.prompts import DEFAULT_MIX, KINDS, BadMixError, library, parse_mix
from loadtest.stats import judge, quantiles
from loadtest.sweep import (
    BadArmError,
    BadPlanError,
    Plan,
    Status,
    SweepError,
    default_arms,
    parse_arm,
    parse_levels,
)

LEVELS = "1,2,5,10,30,70,100,250"
_complain = partial(print, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Runs a command. Exit status: 0; 1 if requests failed or the run was cut short; 2 if it could not be run."""
    args, rest = _parser().parse_known_args(argv)
    if rest and args.run is not _locust:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        status: int = args.run(args, rest)
    except (BadTargetError, BadMixError, BadArmError, BadPlanError, SweepError, results.BadResultsError) as error:
        _complain(f"spillway-loadtest: {error}")
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="spillway-loadtest", description="What adaptive routing gains, measured.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    sweep = commands.add_parser("sweep", help="a closed loop at each level of concurrency, for each arm in turn")
    add_server_options(sweep)
    add_sweep_options(sweep)
    sweep.set_defaults(run=_sweep)

    again = commands.add_parser("report", help="render the report of a run again, from its results.json")
    again.add_argument("folder", type=Path, metavar="DIR")
    again.set_defaults(run=_report)

    locust = commands.add_parser("locust", help="run locust with the shipped users and shapes", add_help=False)
    locust.set_defaults(run=_locust)

    prompts = commands.add_parser("prompts", help="the shipped prompts: how many, and how long")
    prompts.set_defaults(run=_prompts)
    return parser


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a sweep can be told."""
    group = parser.add_argument_group("sweep")
    group.add_argument("--levels", default=LEVELS, help="requests at once (default: %(default)s)")
    group.add_argument(
        "--threshold-levels", action="store_true", help="also T-1, T, T+1 and 2T, T being the limit that /status shows"
    )
    group.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="NAME[=HOW]",
        help="may be repeated; HOW is pool:POOL (by header), model:MODEL or a URL, and nothing for the gateway's "
        "choice (default: speculative=pool:speculative, baseline=pool:baseline and spillway)",
    )
    group.add_argument("--requests", type=int, default=30, help="a level (default: %(default)s), and at least ...")
    group.add_argument("--per-client", type=int, default=2, help="... so many a client (default: %(default)s)")
    group.add_argument("--max-tokens", type=int, default=512, help="of an answer (default: %(default)s)")
    group.add_argument("--repeats", type=int, default=3, help="of everything (default: %(default)s)")
    group.add_argument("--warmup", type=int, default=5, help="requests of each arm first (default: %(default)s)")
    group.add_argument("--no-level-warmup", action="store_true", help="don't send short requests before a new level")
    group.add_argument("--settle", type=float, default=3.0, help="idle seconds before each (default: %(default)s)")
    group.add_argument("--mix", default=str(DEFAULT_MIX), help=f"of {', '.join(KINDS)} (default: %(default)s)")
    group.add_argument("--same-prompts", action="store_true", help="let prefix caches help: send prompts as they are")
    group.add_argument("--seed", default="1", help="of the order of prompts (default: %(default)s)")
    group.add_argument(
        "--body", type=_object, default={}, metavar="JSON", help='more members of each request: {"ignore_eos": true}'
    )
    group.add_argument("--note", default="", help="a sentence for the report: what hardware, what engines")
    group.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the results (default: loadtest-results/TIME)"
    )


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value


def plan_from(args: argparse.Namespace, status: Status | None) -> Plan:
    """The plan that the options ask for. Raises BadPlanError, BadArmError, BadMixError or SweepError."""
    levels = parse_levels(args.levels)
    return Plan(
        arms=tuple(parse_arm(text) for text in args.arm) or default_arms(),
        levels=with_neighbourhood(levels, status) if args.threshold_levels else levels,
        repeats=args.repeats,
        requests=args.requests,
        per_client=args.per_client,
        max_tokens=args.max_tokens,
        warmup=args.warmup,
        warm_levels=not args.no_level_warmup,
        mix=parse_mix(args.mix),
        unique=not args.same_prompts,
        seed=args.seed,
        settle=args.settle,
        body=args.body,
    )


def _sweep(args: argparse.Namespace, _: list[str]) -> int:
    found = measure(Measurement(server(args), partial(plan_from, args), note=args.note))
    folder: Path = args.out or Path("loadtest-results") / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    write(found, folder)
    return 0 if found.complete and not any(cell.failed for cell in found.cells) else 1


def write(found: results.Results, folder: Path) -> None:
    """Writes every file of a run and says the verdict."""
    written = results.write(found, folder)
    try:
        written.append(report.write(found, folder))
    except report.MissingLibraryError as error:
        _complain(f"no report.html: {error}")
    print(f"\n{summary(found)}\n\nwritten: {', '.join(map(str, written))}")


def _report(args: argparse.Namespace, _: list[str]) -> int:
    found = results.read(args.folder)
    threshold = found.policy.get("threshold")
    found.verdict = judge(found.cells, replicas=replicas_in_common(found.replicas), threshold=threshold)
    write(found, args.folder)
    return 0


def _locust(_: argparse.Namespace, rest: list[str]) -> int:
    from loadtest.commands import locusting

    return locusting.run(rest)


def _prompts(_: argparse.Namespace, __: list[str]) -> int:
    print("kind   prompts  characters p50  p90  max")
    for kind in KINDS:
        sizes = quantiles(len(prompt.text) for prompt in library(kind))
        print(f"{kind:6s} {len(library(kind)):7d} {sizes.p50:15.0f} {sizes.p90:4.0f} {sizes.max:4.0f}")
    return 0
