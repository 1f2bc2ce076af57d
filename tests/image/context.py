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
    """A copy of all that `make image` and `make image-loadtest` need, unmoved by work on the checkout."""
    for name in ("Makefile", "Dockerfile", ".dockerignore", "deploy/loadtest-image", *sent()):
        source = REPOSITORY / name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return folder
