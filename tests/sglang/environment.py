"""The real SGLang: in `.venv-sglang`, which `scripts/sglang-venv.sh` makes."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.sglang.cases import FOLDER

ENVIRONMENT = Path(__file__).parents[2] / ".venv-sglang"
PYTHON = ENVIRONMENT / "bin" / "python"


def version() -> str:
    """Of the SGLang there."""
    code = "import importlib.metadata; print(importlib.metadata.version('sglang'))"
    return subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def resolved(questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What it makes of launch lines, by name. Raises AssertionError with its complaint if it can't be asked."""
    done = subprocess.run(
        [str(PYTHON), "-W", "ignore", "-m", "tests.sglang.runtime.resolve"],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        cwd=FOLDER.parents[1],
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def surface() -> dict[str, Any]:
    """Its options, as a file of `spillway_engine/surfaces/`."""
    command = [str(PYTHON), "-W", "ignore", "-m", "tests.sglang.runtime.record"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parents[1], check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
