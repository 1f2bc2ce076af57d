"""Configuration files for tests, and what is said about them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gateway.config import ConfigError, Problem, load_config

MODELS = """\
models:
  - name: m
    pools:
      baseline: {discovery: {static: ["http://a:1"]}}
"""


def write(folder: Path, text: str | bytes, name: str = "spillway.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problems(path: Path, env: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """Every problem found; the file must be refused."""
    with pytest.raises(ConfigError) as refused:
        load_config(path, env or {})
    return refused.value.problems
