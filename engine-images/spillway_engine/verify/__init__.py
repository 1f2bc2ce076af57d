"""`spillway engine verify`: is what the speculative engine answers what the other would?

Speculation is lossless if every draft is verified right. Whether it is depends on kernels and their masks, so it is
checked before a pool goes live: the greedy answers of both engines, token by token where engines tell tokens.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

_FAILED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the comparison to `parser`."""
    parser.add_argument(
        "--url",
        action="append",
        required=True,
        metavar="URL",
        help="an engine; give the speculative one first, then the baseline",
    )
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="prompts of your own, one JSON string a line")
    parser.add_argument(
        "--max-tokens", type=int, default=128, metavar="N", help="of each answer (default: %(default)s)"
    )
    parser.add_argument(
        "--concurrency", type=int, default=1, metavar="N", help="prompts at once (default: %(default)s)"
    )
    parser.add_argument(
        "--tie",
        type=float,
        default=0.1,
        metavar="NATS",
        help="two tokens this close in log probability are a tie, which rounding decides (default: %(default)s)",
    )
    parser.add_argument("--model", default="", help="the name to ask for, where the engine has only OpenAI's API")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Compare, print, and return 0 if the answers are the same, ties apart; 1 if not; 2 if an engine can't be asked."""
    from spillway_engine.verify import comparison, engines, prompts, report

    try:
        if len(args.url) != 2:
            raise engines.EngineError("give --url twice: the speculative engine, then the baseline")
        asked = prompts.load(args.prompts)
        result = asyncio.run(
            comparison.compare(
                *args.url,
                prompts=asked,
                max_tokens=args.max_tokens,
                concurrency=args.concurrency,
                tie=args.tie,
                model=args.model,
            )
        )
    except (engines.EngineError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return _FAILED
    print(json.dumps(report.as_json(result), indent=2) if args.json else report.as_text(result))
    return 0 if result.lossless else 1
