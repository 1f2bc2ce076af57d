"""`spillway demo`: two real local engines, a gateway in front of them, and real requests through the official client.

The parts that need the demo's own packages are imported when a demo runs, so that the command line works without them.
"""

import argparse

DEFAULT_PORT = 8080


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the demo's options to `parser`."""
    parser.add_argument("--check", action="store_true", help="assert what the table shows, then stop everything")
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="the gateway's port (default: %(default)s; 0: any free one)"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 0 to 65535")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Runs the demo until it is told to stop; returns the exit status. Must be called from the main thread."""
    from gateway.demo import session

    return session.run(port=args.port, check=args.check)
