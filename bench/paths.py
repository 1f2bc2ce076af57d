"""Where things are."""

import os
import shutil
import sys
from pathlib import Path

BENCH = Path(__file__).parent
ROOT = BENCH.parent
BUILD = BENCH / "build"
VENV = Path(sys.executable).parent
PEERS = ROOT / ".venv-bench" / "bin"
OPTIMISED = ROOT / ".venv-bench-python" / "bin" / "python"


class SetupError(Exception):
    """Something that bench/setup.sh installs is not there, or a process did not come up."""


def tool(name: str) -> str:
    """The path of a command from Debian; /usr/sbin counts although it is on no ordinary user's PATH.

    Raises SetupError if it is missing.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
    if found is None:
        raise SetupError(f"{name} is not installed: run `bash bench/setup.sh`")
    return found


def peer(name: str) -> str:
    """The path of a command in .venv-bench. Raises SetupError if it is missing."""
    path = PEERS / name
    if not path.exists():
        raise SetupError(f"{path.relative_to(ROOT)} is missing: run `bash bench/setup.sh`")
    return str(path)
