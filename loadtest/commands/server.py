"""Options that say where the server is, shared by all commands."""

import argparse
import os
from dataclasses import dataclass

from loadtest.client import Target, parse_target

KEY_VARIABLE = "SPILLWAY_API_KEY"


@dataclass(frozen=True, slots=True)
class Server:
    """The server under test. `model` may be empty: the first that it lists."""

    target: Target
    status_url: str
    model: str
    timeout: float


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
    group.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="for one request")
    group.add_argument("--insecure", action="store_true", help="take any TLS certificate")
    group.add_argument("--ca-file", metavar="FILE", help="certificates to trust, as PEM")


def server(args: argparse.Namespace) -> Server:
    """From the parsed options. Raises BadTargetError."""
    headers: dict[str, str] = {"authorization": f"Bearer {args.api_key}"} if args.api_key else {}
    for header in args.header:
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()
    target = parse_target(args.url, headers, verify=not args.insecure, ca_file=args.ca_file)
    return Server(target, (args.status_url or target.url).rstrip("/"), args.model, args.timeout)
