"""The Dockerfile by the rules of its craft, and what is sent to the builder."""

import subprocess

from tests.image.base import REPOSITORY
from tests.image.context import sent


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(["hadolint", "Dockerfile"], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_only_what_is_copied_is_sent() -> None:
    copies = [line.split() for line in (REPOSITORY / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    assert sent() == {name for _, *names, _ in copies for name in names if not name.startswith(("--from", "/"))}
