"""The server under test, from the command line."""

import argparse
from dataclasses import dataclass

from loadtest.client import Target, parse_target


@dataclass(frozen=True, slots=True)
class Server:
    """The server under test. `model` may be empty: the first that it lists."""

    target: Target
    status_url: str
    model: str
    timeout: float


def server(args: argparse.Namespace) -> Server:
    """From the parsed options. Raises BadTargetError."""
    headers: dict[str, str] = {"authorization": f"Bearer {args.api_key}"} if args.api_key else {}
    for header in args.header:
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()
    target = parse_target(args.url, headers, verify=not args.insecure, ca_file=args.ca_file)
    return Server(target, (args.status_url or target.url).rstrip("/"), args.model, args.timeout)
