"""The command line where packages are not installed, as in a plain install of a machine that has them."""

import sys


def lacking(*packages: str) -> list[str]:
    """`spillway`, unable to import or find these."""
    code = f"""
import sys
from importlib.abc import MetaPathFinder

class Lacking(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in {packages!r} else found(name, *more)
sys.meta_path.insert(0, Lacking())
from gateway.cli import main
sys.exit(main())
"""
    return [sys.executable, "-c", code]
