"""The command line: spillway-loadtest sweep | report | locust | prompts."""

import argparse
import sys
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from loadtest import records, report
from loadtest.client import BadTargetError
from loadtest.commands import Measurement, measure, rejudge, server, summary, sweep_plan
from loadtest.options import add_server_options, add_sweep_options
from loadtest.prompts import KINDS, BadMixError, library
from loadtest.stats import quantiles
from loadtest.sweep import BadArmError, BadPlanError, SweepError
from spillway_engine.commandline import Parser, until_unread

_complain = partial(print, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Runs a command. Exit status: 0; 1 if requests failed or the run was cut short; 2 if it could not be run."""
    return until_unread(lambda: _run(argv))


def _run(argv: list[str] | None) -> int:
    args, rest = _parser().parse_known_args(argv)
    if rest and args.run is not _locust:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        status: int = args.run(args, rest)
    except (BadTargetError, BadMixError, BadArmError, BadPlanError, SweepError, records.BadResultsError) as error:
        _complain(f"spillway-loadtest: {error}")
        return 2
    return status


def _parser() -> Parser:
    parser = Parser(prog="spillway-loadtest", description="What adaptive routing gains, measured.")
    parser.passes_on = True
    parser.add_argument("--version", action="version", version=f"spillway-loadtest {version('spillway')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    sweep = commands.add_parser("sweep", help="a closed loop at each level of concurrency, for each arm in turn")
    add_server_options(sweep)
    add_sweep_options(sweep)
    sweep.set_defaults(run=_sweep)

    again = commands.add_parser("report", help="render the report of a run again, from its results.json")
    again.add_argument("folder", type=Path, metavar="DIR")
    again.add_argument("--plot", type=Path, metavar="FILE", help="also the throughput's plot alone, as .svg or .png")
    again.set_defaults(run=_report)

    locust = commands.add_parser("locust", help="run locust with the shipped users and shapes", add_help=False)
    locust.passes_on = True
    locust.set_defaults(run=_locust)

    prompts = commands.add_parser("prompts", help="the shipped prompts: how many, and how long")
    prompts.set_defaults(run=_prompts)
    return parser


def _sweep(args: argparse.Namespace, _: list[str]) -> int:
    found = measure(Measurement(server(args), partial(sweep_plan, args), note=args.note))
    folder: Path = args.out or Path("loadtest-results") / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    write(found, folder)
    return 0 if found.complete and not any(cell.failed for cell in found.cells) else 1


def write(found: records.Results, folder: Path) -> None:
    """Writes every file of a run and says the verdict."""
    written = records.write(found, folder)
    try:
        written.append(report.write(found, folder))
    except report.MissingLibraryError as error:
        _complain(f"no report.html: {error}")
    print(f"\n{summary(found)}\n\nwritten: {', '.join(map(str, written))}")


def _report(args: argparse.Namespace, _: list[str]) -> int:
    found = records.read(args.folder)
    rejudge(found)
    write(found, args.folder)
    if args.plot is not None:
        from loadtest.report.plots import throughput_figure

        throughput_figure(found).savefig(args.plot, metadata={"Date": None} if args.plot.suffix == ".svg" else None)
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
