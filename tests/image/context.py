"""What the image is built from."""

import shutil
from pathlib import Path

from tests.image.base import REPOSITORY


def sent() -> set[str]:
    """What .dockerignore lets through."""
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*", "everything is kept back but what follows"
    return {line.removeprefix("!") for line in lines if line.startswith("!")}


def snapshot(folder: Path) -> Path:
    """A copy of all that `make image` needs, which stays as it is while somebody works on the checkout."""
    for name in ("Makefile", "Dockerfile", ".dockerignore", *sent()):
        source = REPOSITORY / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return folder
