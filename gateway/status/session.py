"""A run of the command: once, or until it is interrupted."""

import argparse
import io
import json
import os
import signal
import sys
import time
from contextlib import closing

from gateway.status.fetch import NoStatusError, Source, decoded
from gateway.status.table import text

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def run(args: argparse.Namespace) -> int:
    """Returns the exit status: 0, also when a watch is interrupted; 1 if there is no status to be had."""
    # Shells start background jobs with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with closing(Source(args.url, timeout=args.timeout, ca_file=args.ca_file, insecure=args.insecure)) as source:
            _print(_page(source, args), args)
            while args.watch:
                time.sleep(args.interval)
                _print(_page_or_error(source, args), args)
    except NoStatusError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if args.watch else 130
    except BrokenPipeError:
        # Whoever reads has seen enough. Flushing at exit would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _page(source: Source, args: argparse.Namespace) -> str:
    body = source.read()
    if args.json:
        return json.dumps(json.loads(body), indent=None if args.watch else 2, ensure_ascii=False) + "\n"
    return text(decoded(source.url, body), args.replicas)


def _page_or_error(source: Source, args: argparse.Namespace) -> str:
    """A watch outlives a gateway that restarts."""
    try:
        return _page(source, args)
    except NoStatusError as error:
        if not args.json:
            return f"{error}\n"
        print(error, file=sys.stderr, flush=True)
        return ""


def _print(page: str, args: argparse.Namespace) -> None:
    if args.watch and not args.json:
        head = f"{time.strftime('%H:%M:%S')}  every {args.interval:g} s, Ctrl-C ends\n\n"
        page = (_CLEAR if sys.stdout.isatty() else "") + head + page + ("" if sys.stdout.isatty() else "\n")
    print(page, end="", flush=True)
