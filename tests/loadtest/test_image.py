"""The image for load tests: its Dockerfile by the rules of its craft, its packages in the versions that are tested."""

import subprocess

from packaging.utils import canonicalize_name

from tests.docs.markdown import REPOSITORY
from tests.image.base import PYTHON
from tests.image.locks import pinned

FOLDER = REPOSITORY / "deploy" / "loadtest-image"


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(["hadolint", "Dockerfile"], cwd=FOLDER, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_lock_has_the_versions_that_are_tested() -> None:
    tested, here = pinned(REPOSITORY / "requirements.lock", PYTHON), pinned(FOLDER / "requirements.lock", PYTHON)
    assert here.items() <= tested.items()
    assert {"jinja2", "locust", "matplotlib"} <= {canonicalize_name(name) for name in here}
