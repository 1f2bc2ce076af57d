"""The dashboards' JSON against the types that Grafana publishes, of the oldest and the newest release supported."""

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from dashboards import rendered

SCHEMA = Path(__file__).parent / "schema"
RELEASES = ("10", "13")


def complaints(boards: dict[str, Any], release: str) -> str:
    """What the TypeScript compiler says of these dashboards; nothing if they are right."""
    with tempfile.TemporaryDirectory(dir=SCHEMA, prefix="check-") as folder:
        literals = [
            f"export const board{at}: Board{release} = {json.dumps(it)};" for at, it in enumerate(boards.values())
        ]
        source = Path(folder) / "boards.ts"
        source.write_text("\n".join([f"import type {{ Board{release} }} from '../types';", *literals]))
        options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
        command: list[str | Path] = [SCHEMA / "node_modules" / ".bin" / "tsc", *options, "--target", "es2022", source]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    return re.sub(r"^.*boards", "boards", done.stdout, flags=re.MULTILINE) + done.stderr


@pytest.mark.parametrize("release", RELEASES)
def test_dashboards_are_of_grafanas_types(release: str) -> None:
    assert complaints({name: json.loads(text) for name, text in rendered().items()}, release) == ""


MISTAKES: list[tuple[tuple[str | int, ...], object]] = [
    (("schemaVersion",), "36"),
    (("panels", 1, "type"), "timeserie"),
    (("panels", 1, "gridPos", "w"), "4"),
    (("panels", 1, "options", "graphMode"), "none at all"),
    (("panels", 1, "targets", 0, "expr"), None),
    (("panels", 8, "fieldConfig", "defaults", "custom", "drawStyle"), "pen"),
    (("templating", "list", 0, "type"), "source"),
]


@pytest.mark.parametrize("release", RELEASES)
def test_mistakes_are_found(release: str) -> None:
    boards = {}
    for path, value in MISTAKES:
        board = at = json.loads(rendered()["overview.json"])
        for step in path[:-1]:
            at = at[step]
        assert path[-1] in at
        at[path[-1]] = value
        boards[str(path)] = board
    wrong = set(re.findall(r"boards\.ts\((\d+),", complaints(boards, release)))
    assert wrong == {str(line) for line in range(2, len(MISTAKES) + 2)}
