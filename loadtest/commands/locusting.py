"""`spillway-loadtest locust`: locust itself, with the shipped file."""

import importlib.util
import os
import sys
from importlib.resources import files


def run(arguments: list[str]) -> int:
    """Runs locust with these arguments and returns its exit status; 2 if it is not installed."""
    if importlib.util.find_spec("locust") is None:
        print("locust is not installed: in the checkout, pip install '.[loadtest]'", file=sys.stderr)
        return 2
    locustfile = files("loadtest").joinpath("locustfile.py")
    # A process of its own from the start: locust patches sockets before anything else is imported.
    return os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-m", "locust", "-f", str(locustfile), *arguments])
