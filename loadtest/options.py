"""Options that several commands share. Imports little: the gateway's own command line asks for them too."""

import argparse
import json
import os
from pathlib import Path

from loadtest.prompts import DEFAULT_MIX, KINDS

KEY_VARIABLE = "SPILLWAY_API_KEY"
LEVELS = "1,2,5,10,30,70,100,250"


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Adds them."""
    group = parser.add_argument_group("server")
    group.add_argument("--url", required=True, help="the gateway's base URL, such as http://localhost:8080")
    group.add_argument("--status-url", default="", metavar="URL", help="where /status is, if not there (`admin`)")
    group.add_argument("--model", default="", help="the model to ask for (default: the first that the server lists)")
    group.add_argument(
        "--api-key", default=os.environ.get(KEY_VARIABLE, ""), metavar="KEY", help=f"default: ${KEY_VARIABLE}"
    )
    group.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="may be repeated")
    group.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="for one request (default: %(default)g)"
    )
    group.add_argument("--insecure", action="store_true", help="take any TLS certificate")
    group.add_argument("--ca-file", metavar="FILE", help="certificates to trust, as PEM")


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a sweep can be told."""
    add_load_options(parser, levels=LEVELS, repeats=3, out="loadtest-results/ and the time")
    group = parser.add_argument_group("arms")
    group.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="NAME[=HOW]",
        help="may be repeated; HOW is pool:POOL (by header), model:MODEL or a URL, and nothing for the gateway's own "
        "choice (default: speculative=pool:speculative, baseline=pool:baseline and spillway)",
    )
    group.add_argument(
        "--threshold-levels", action="store_true", help="also T-1, T, T+1 and 2T, T being the limit that /status shows"
    )


def add_load_options(parser: argparse.ArgumentParser, *, levels: str, repeats: int, out: str) -> None:
    """Adds what any closed loop can be told. `out`: the default folder, in words."""
    group = parser.add_argument_group("load")
    group.add_argument("--levels", default=levels, help="requests at once (default: %(default)s)")
    group.add_argument("--requests", type=int, default=30, help="a level (default: %(default)s), and at least ...")
    group.add_argument("--per-client", type=int, default=2, help="... so many a client (default: %(default)s)")
    group.add_argument("--max-tokens", type=int, default=512, help="of an answer (default: %(default)s)")
    group.add_argument("--repeats", type=int, default=repeats, help="of everything (default: %(default)s)")
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
    group.add_argument("--out", type=Path, metavar="DIR", help=f"folder for the results (default: {out})")


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value
