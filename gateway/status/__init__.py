"""`spillway status`: asks a running gateway at /status and prints the answer. Knows the gateway from outside only."""

import argparse

DEFAULT_URL = "http://127.0.0.1:8080"

__all__ = ["DEFAULT_URL", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options to `parser`."""
    parser.add_argument(
        "--url",
        default=DEFAULT_URL,
        help="where the gateway serves /status: its admin address, if it has one (default: %(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the gateway's answer as JSON; with --watch one a line"
    )
    parser.add_argument("--watch", action="store_true", help="ask again and again, until Ctrl-C")
    parser.add_argument(
        "--interval", type=_seconds, default=2.0, metavar="SECONDS", help="pause of --watch (default: %(default)g)"
    )
    parser.add_argument(
        "--replicas",
        type=_count,
        default=10,
        metavar="N",
        help="replicas to show of each pool, those in trouble first (default: %(default)s; 0: all)",
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=5.0, metavar="SECONDS", help="for an answer (default: %(default)g)"
    )
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument("--ca-file", metavar="FILE", help="PEM certificates to trust at an https address")
    trust.add_argument("--insecure", action="store_true", help="do not check the certificate of an https address")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return seconds


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no whole number")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Prints the status; returns 0, or 1 with a message on standard error if there is none to be had."""
    from gateway.status import session

    return session.run(args)
