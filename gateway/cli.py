"""The command line: spillway serve | check-config | calibrate | demo | simulate | status | engine."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from gateway import __version__
from spillway_engine.commandline import Parser, until_unread

_CONFIG = "SPILLWAY_CONFIG"


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status: 2 for a bad configuration or command line, 1 for other failures."""
    return until_unread(lambda: _run(argv))


def _run(argv: list[str] | None) -> int:
    args = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _parser() -> Parser:
    parser = Parser(
        prog="spillway", description="Load-aware gateway between speculative and baseline pools of LLM engines."
    )
    parser.add_argument("--version", action="version", version=f"spillway {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the gateway")
    serve.add_argument(
        "--config",
        default=os.environ.get(_CONFIG, ""),
        metavar="FILE",
        help=f"configuration file (default: ${_CONFIG})",
    )
    serve.set_defaults(run=_serve, refuse=serve.error)

    check = commands.add_parser("check-config", help="validate a configuration and print what would be in force")
    check.add_argument(
        "config",
        nargs="?",
        default=os.environ.get(_CONFIG, ""),
        metavar="FILE",
        help=f"configuration file (default: ${_CONFIG})",
    )
    check.set_defaults(run=_check_config, refuse=check.error)

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

    path = _config_file(args, "--config FILE")

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


def _config_file(args: argparse.Namespace, option: str) -> Path:
    if not args.config:
        args.refuse(f"no configuration file: give {option}, or set {_CONFIG}")
    return Path(args.config)


def _check_config(args: argparse.Namespace) -> int:
    from gateway.config import check

    return check.run(_config_file(args, "FILE"), os.environ, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
