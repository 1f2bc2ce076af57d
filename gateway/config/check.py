"""`spillway check-config`: validates a file and prints what would be in force."""

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from .errors import ConfigError
from .load import load_config
from .render import effective_yaml


def run(path: Path, env: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Writes the effective configuration to `out`, warnings to `err`, and returns 0; or problems to `err`, and 2."""
    try:
        loaded = load_config(path, env)
    except ConfigError as error:
        err.writelines(f"{problem}\n" for problem in error.problems)
        return 2
    err.writelines(f"warning: {warning}\n" for warning in loaded.warnings)
    out.write(effective_yaml(loaded.config))
    return 0
