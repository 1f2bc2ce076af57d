"""A node of the tests: real processes for what `spillway-engine` calls, first in the PATH."""

import os
import sys
from pathlib import Path

MODELS = Path(__file__).parents[1] / "sglang" / "models"

# Stands for the engine: says what it was started as, and ends with 7 when it is told to.
ENGINE = """#!{python}
import json, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print(json.dumps({{"pid": os.getpid(), "arguments": sys.argv[1:], "env": dict(os.environ)}}), flush=True)
signal.pause()
"""


class Node:
    """Its programs are in `bin`; `env` has them first."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._write("python3", ENGINE.format(python=sys.executable))
        self.env = {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
        self.env.pop("CUDA_VISIBLE_DEVICES", None)

    def gpus(self, *rows: str, status: int = 0) -> None:
        """What nvidia-smi prints: rows of capability, driver and name."""
        text = "\n".join(rows)
        self._write("nvidia-smi", f"#!/bin/sh\ncat <<'ROWS'\n{text}\nROWS\nexit {status}\n")

    def _write(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
