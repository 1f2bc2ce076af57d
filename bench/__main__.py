"""`python -m bench`: run the comparison. `python -m bench inspect`: time the inspection of a long prompt."""

import argparse
import importlib.util
import signal
import sys
from pathlib import Path

from bench import inspection, proxies
from bench.paths import BENCH, BUILD, SetupError
from bench.proxies.base import Proxy
from bench.run import Plan, execute
from bench.targets import verdicts

DEFAULT_REPEATS, DEFAULT_SECONDS, DEFAULT_STREAMS = 3, 7.0, 10_000
QUICK_REPEATS, QUICK_SECONDS, QUICK_STREAMS = 1, 3.0, 1_000


def _chosen(names: str) -> tuple[Proxy, ...]:
    wanted = names.split(",")
    if unknown := [name for name in wanted if name not in proxies.ALL]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)} (known: {', '.join(proxies.ALL)})")
    return tuple(proxy for name, proxy in proxies.ALL.items() if name in wanted)


def _at_least_one(text: str) -> float:
    value = float(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("command", nargs="?", choices=("run", "inspect"), default="run")
    parser.add_argument(
        "--only", type=_chosen, default=tuple(proxies.ALL.values()), metavar="NAME,...", help="these proxies only"
    )
    parser.add_argument(
        "--seconds", type=_at_least_one, help=f"length of a streamed phase (default {DEFAULT_SECONDS:g})"
    )
    parser.add_argument("--repeats", type=int, help=f"rounds (default {DEFAULT_REPEATS})")
    parser.add_argument(
        "--quick", action="store_true", help="one short round: does it work, rather than what does it cost"
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="folder for RESULTS.md and results.png (default: bench/ for a full run, else bench/build/)",
    )
    return parser


def _plan(args: argparse.Namespace) -> Plan:
    quick: bool = args.quick
    return Plan(
        proxies=args.only,
        repeats=args.repeats or (QUICK_REPEATS if quick else DEFAULT_REPEATS),
        seconds=args.seconds or (QUICK_SECONDS if quick else DEFAULT_SECONDS),
        memory_streams=QUICK_STREAMS if quick else DEFAULT_STREAMS,
    )


def _is_full(plan: Plan) -> bool:
    enough = plan.repeats >= DEFAULT_REPEATS and plan.seconds >= DEFAULT_SECONDS
    return enough and len(plan.proxies) == len(proxies.ALL) and plan.memory_streams == DEFAULT_STREAMS


def main() -> int:
    """Exit status: 0, 1 if a target was missed, 2 if something could not be run."""
    args = _parser().parse_args()
    if args.command == "inspect":
        return inspection.main()
    # Raised where it lands, so that every started process is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    if importlib.util.find_spec("matplotlib") is None:
        print("bench: matplotlib is missing: run `make install`", file=sys.stderr)
        return 2
    # Here, because `inspect` does without that library.
    from bench import page, table

    plan = _plan(args)
    folder: Path = args.output or (BENCH if _is_full(plan) else BUILD)
    try:
        results = execute(plan)
    except (SetupError, RuntimeError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    path = page.write(results, folder)
    print(f"\n{table.render(results)}\n\nwritten: {path}")
    missed = any(verdict.passed is False for verdict in verdicts(results))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
