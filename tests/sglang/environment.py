"""Where the real SGLang is: `.venv-sglang`, which `scripts/sglang-venv.sh` makes."""

import subprocess
from pathlib import Path

ENVIRONMENT = Path(__file__).parents[2] / ".venv-sglang"


def version() -> str:
    """Of the SGLang there."""
    code = "import importlib.metadata; print(importlib.metadata.version('sglang'))"
    done = subprocess.run([ENVIRONMENT / "bin" / "python", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
