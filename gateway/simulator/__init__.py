"""`spillway simulate`: the gateway's policies on simulated engines, whose speed by load is given as curves.

The parts that do the work are imported when a simulation runs, so that the command line starts without them.
"""

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the simulator's options to `parser`."""
    add = parser.add_argument
    add("--list", action="store_true", help="list the curve sets and where they come from, and end")
    add("--curves", action="append", metavar="SET", help="a curve set by name, or FILE.yaml[:ARM]; may be repeated")
    add(
        "--load",
        action="append",
        metavar="LOAD",
        help="closed:N[,N...], poisson:RATE[,RATE...], bursts:LOW:HIGH:PERIOD:SHARE, day:LOW:HIGH[:PERIOD] or "
        "trace:FILE[:SPEED]; may be repeated; by default a closed loop at the levels that the curves were measured at",
    )
    add(
        "--policies",
        action="append",
        metavar="NAMES",
        help="pinned, spill:N[-M], switch:N[-M], adaptive[:OBJECTIVE], oracle[:OBJECTIVE], with commas between; "
        "may be repeated",
    )
    add("--replicas", default="1x1", metavar="SxB", help="speculative and baseline replicas (default: %(default)s)")
    add("--max-inflight", type=int, default=128, metavar="N", help="of each replica (default: %(default)s)")
    add(
        "--shared",
        metavar="HOW",
        help="own; time: the n-th replicas of both pools divide one piece of hardware; or the share of its speed that "
        "one loses while the other is busy (default: as the curves were measured)",
    )
    add("--prompt", metavar="LENGTH", help="tokens: N, exponential:MEAN or lognormal:MEAN:SIGMA (default: the curves')")
    add("--output", metavar="LENGTH", help="likewise, of answers")
    add("--requests", type=int, default=2000, metavar="N", help="of each run (default: %(default)s)")
    add("--seconds", type=float, default=float("inf"), metavar="S", help="simulated, at most")
    add(
        "--warm-up",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="of a run that is not counted (default: %(default)s)",
    )
    add("--step", action="append", default=[], metavar="S:TOKENS", help="from second S on, TOKENS are accepted a step")
    add("--slo-ttft", type=float, default=2.0, metavar="S", help="first token within (default: %(default)s)")
    add(
        "--slo-speed",
        type=float,
        default=20.0,
        metavar="RATE",
        help="tokens per second at least (default: %(default)s)",
    )
    add("--seed", type=int, default=1, metavar="N", help="of all that is random (default: %(default)s)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default: %(default)s)")
    add("--timeline", type=float, default=0.0, metavar="S", help="keep the pools' speed every S simulated seconds")
    add("--json", type=Path, metavar="FILE", help="write the results, with timelines")
    add("--csv", type=Path, metavar="FILE", help="write the results as a table")
    add("--plot", type=Path, metavar="FILE", help="draw them, as .svg or .png; needs matplotlib")


def run(args: argparse.Namespace) -> int:
    """Runs simulations and prints their table; returns the exit status, 2 for options that make no sense."""
    from gateway.simulator import command

    return command.run(args)
