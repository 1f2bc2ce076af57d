"""The curves of the load. Locust patches sockets, so the module is loaded in a process of its own."""

import subprocess
import sys

CODE = """
from loadtest.shapes import CURVES, QUIET
at = lambda name: [round(CURVES[name](share), 2) for share in (0.0, 0.25, 0.5, 0.75, 0.99)]
assert at("step") == [0.2, 0.4, 0.6, 0.8, 1.0], at("step")
assert at("ramp") == [0.0, 0.25, 0.5, 0.75, 0.99]
assert at("spike") == [QUIET, QUIET, 1.0, QUIET, QUIET]
assert at("day") == [0.1, 0.55, 1.0, 0.55, 0.1], at("day")
"""


def test_curves() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)
