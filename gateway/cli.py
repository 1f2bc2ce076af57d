"""The command line: spillway serve | check-config | calibrate | demo | simulate | status | engine."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from gateway import __version__


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status: 2 for a bad configuration or command line, 1 for other failures."""
    args = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spillway", description="Load-aware gateway between speculative and baseline pools of LLM engines."
    )
    parser.add_argument("--version", action="version", version=f"spillway {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the gateway")
    serve.add_argument(
        "--config",
        type=Path,
        default=os.environ.get("SPILLWAY_CONFIG"),
        required="SPILLWAY_CONFIG" not in os.environ,
        metavar="FILE",
        help="configuration file; the default is $SPILLWAY_CONFIG",
    )
    serve.set_defaults(run=_serve)

    check = commands.add_parser("check-config", help="validate a configuration and print what would be in force")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(run=_check_config)

    from loadtest import calibrate

    find = commands.add_parser("calibrate", help="measure where the pools cross, and say which threshold to set")
    calibrate.add_arguments(find)
    find.set_defaults(run=calibrate.run)

    from gateway import demo

    show = commands.add_parser("demo", help="run the gateway over two real local engines and show what it does")
    demo.add_arguments(show)
    show.set_defaults(run=demo.run)

    from gateway import status

    look = commands.add_parser("status", help="show what a running gateway knows of its pools, replicas and Redis")
    status.add_arguments(look)
    look.set_defaults(run=status.run)

    from gateway import simulator

    simulate = commands.add_parser("simulate", help="compare policies on simulated engines")
    simulator.add_arguments(simulate)
    simulate.set_defaults(run=simulator.run)

    import spillway_engine.cli

    engine = commands.add_parser("engine", help="launch profiles of engines: render, check and compare them")
    spillway_engine.cli.add_arguments(engine)
    return parser


def _serve(args: argparse.Namespace) -> int:
    import uvloop

    from gateway.app import ListenError, serve
    from gateway.config import ConfigError, Loaded, load_config

    path = Path(args.config)

    def load() -> Loaded:
        return load_config(path, os.environ)

    try:
        loaded = load()
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return 2
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(path, load, loaded))
    except ListenError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _check_config(args: argparse.Namespace) -> int:
    from gateway.config import check

    return check.run(args.file, os.environ, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
