"""`spillway calibrate`: where a deployment's own pools cross, and the threshold that follows."""

import argparse
import importlib.util
import sys
from functools import partial
from pathlib import Path

from loadtest.options import add_load_options, add_server_options

LEVELS = "1,2,4,8,16,32,64"
MOST_BETWEEN = 3  # levels of the second sweep, between the two around the crossing
_complain = partial(print, file=sys.stderr, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds its options."""
    add_server_options(parser)
    add_load_options(parser, levels=LEVELS, repeats=2, out="none, and nothing is kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="set the threshold in this configuration file")


def run(args: argparse.Namespace) -> int:
    """Exit status: 0; 1 if no threshold follows from what was measured; 2 if it could not be measured or written."""
    if args.out is not None and importlib.util.find_spec("jinja2") is None:
        _complain("spillway calibrate: --out needs jinja2: in the checkout, pip install '.[loadtest]'")
        return 2
    from loadtest.client import BadTargetError
    from loadtest.commands import calibrating
    from loadtest.prompts import BadMixError
    from loadtest.sweep import BadPlanError, SweepError
    from loadtest.threshold import CantWriteError

    try:
        return calibrating.run(args)
    except (BadTargetError, BadMixError, BadPlanError, SweepError, CantWriteError) as error:
        _complain(f"spillway calibrate: {error}")
        return 2
