"""`python -m enginebench start | sweep | verify | report | simulate | stop`."""

import argparse
import sys
from pathlib import Path

from enginebench import stack, sweeping


def main() -> int:
    """Runs a command; 0 if it went well, 1 if not, 3 if the engines were not ready in time."""
    parser = argparse.ArgumentParser(prog="python -m enginebench", description=__doc__)
    parser.add_argument("--state", type=Path, default=Path("/tmp/enginebench"), help="logs, models, what runs")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    start = commands.add_parser("start", help="start engines and gateway, and return when they are ready and warm")
    start.add_argument("--gpus", type=int, choices=(1, 2), default=2, help="2: one for each pool (default)")
    start.add_argument("--attention", default="flashinfer", help="attention back end (default: %(default)s)")
    start.add_argument("--ready", type=float, default=400.0, metavar="SECONDS", help="to load (default: %(default)s)")
    start.add_argument("--local", type=Path, metavar="GGUF", help="llama.cpp in place of SGLang, to rehearse")
    start.set_defaults(run=lambda args: stack.start(args.state, args.gpus, args.attention, args.ready, args.local))

    sweep = commands.add_parser("sweep", help="measure the arms of one set")
    sweep.add_argument("set", choices=tuple(stack.SETS))
    sweep.add_argument("--out", type=Path, required=True)
    sweep.add_argument("--arms", default=",".join((*sweeping.SINGLE, *stack.POLICIES)), help="default: %(default)s")
    sweep.add_argument("--warm", action="store_true", help="engines and policies are: measure at once")
    sweep.add_argument("--repeats", type=int, default=1)
    sweep.add_argument("--levels", default="1,2,5,10,20,40,70,128")
    sweep.add_argument("--requests", type=int, default=16, help="a level, at least (default: %(default)s)")
    sweep.add_argument("--per-client", type=int, default=3)
    sweep.add_argument("--max-tokens", type=int, default=256)
    sweep.add_argument("--note", default="")
    sweep.set_defaults(run=sweeping.run)

    verify = commands.add_parser("verify", help="compare the answers of the tree with the baseline's")
    verify.add_argument("--gpus", type=int, choices=(1, 2), default=2)
    verify.add_argument("--attention", default="flashinfer")
    verify.add_argument("--ready", type=float, default=200.0, metavar="SECONDS")
    verify.set_defaults(run=lambda args: stack.verify(args.state, args.gpus, args.attention, args.ready))

    report = commands.add_parser("report", help="print the tables of sweeps, and draw them")
    report.add_argument("folder", type=Path, nargs="+", help="what a sweep wrote; named as its set")
    report.add_argument("--picture", type=Path, required=True, metavar="FILE.svg")
    report.set_defaults(run=_report)

    simulate = commands.add_parser("simulate", help="compare routed cells with what the simulator makes of the engines")
    simulate.add_argument("set", choices=tuple(stack.SETS))
    simulate.add_argument("routed", type=Path, help="what a sweep wrote")
    simulate.add_argument("alone", type=Path, nargs="+", help="what a sweep or `spillway calibrate` wrote: the curves")
    simulate.set_defaults(run=_simulate)

    stop = commands.add_parser("stop", help="stop everything")
    stop.set_defaults(run=lambda args: stack.stop(args.state))
    args = parser.parse_args()
    status: int = args.run(args)
    return status


def _report(args: argparse.Namespace) -> int:
    from enginebench import report  # matplotlib, which the machine with the GPUs does not need

    return report.run(args)


def _simulate(args: argparse.Namespace) -> int:
    from enginebench import simulated

    return simulated.run(args)


if __name__ == "__main__":
    sys.exit(main())
