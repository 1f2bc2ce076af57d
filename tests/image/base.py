"""What the image is built from where there is no registry: a Debian to stand on, and the wheels that the locks name.

Both take their time to fetch, so they are kept in .cache/image until what they are made of changes.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.image.store import as_root

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache" / "image"
LOCKS = {
    "gateway": (REPOSITORY / "requirements-build.lock", REPOSITORY / "requirements-image.lock"),
    "loadtest": (REPOSITORY / "deploy" / "loadtest-image" / "requirements.lock",),
}
# What the python:...-slim images have, from Debian's own packages.
SUITE = "bookworm"
PYTHON = "3.11"
PACKAGES = "ca-certificates,python3,python3-venv"
# The base's Python may be another patch release than this one, by which pip would judge these conditions.
_OF_A_PATCH_RELEASE = re.compile(r" ; python_full_version [<>=!]+ '\d+\.\d+\.\d+' ")
# As in those images, where Python's own library is not compiled.
BARE = 'find "$1/usr/lib" -name "*.pyc" -delete'


@contextmanager
def _locked() -> Iterator[None]:
    """One run of the tests fetches, the others wait for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def root_filesystem() -> Path:
    """The archive of the base's file system. Raises ToolError where Debian's packages can't be had."""
    made = CACHE / f"base-{_fingerprint(SUITE, PACKAGES, BARE)}.tar"
    with _locked():
        if not made.exists():
            fresh = CACHE / "fresh.tar"
            options = ["--quiet", "--variant=minbase", f"--include={PACKAGES}", f"--customize-hook={BARE}"]
            as_root(["mmdebstrap", *options, SUITE, str(fresh)])
            _forget("base-*")
            fresh.rename(made)
    return made


def wheels(image: str) -> Path:
    """The folder of all wheels that an image's locks name, for the base's Python. Raises CalledProcessError."""
    locks = LOCKS[image]
    of = (os.uname().machine, PYTHON, _OF_A_PATCH_RELEASE.pattern, *(lock.read_text() for lock in locks))
    made = CACHE / f"wheels-{image}-{_fingerprint(*of)}"
    with _locked():
        if not made.exists():
            fresh = Path(tempfile.mkdtemp(dir=CACHE))
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            command += ["--require-hashes", "--only-binary=:all:", f"--python-version={PYTHON}", f"--dest={fresh}"]
            with tempfile.TemporaryDirectory() as folder:
                for lock in locks:
                    text = _OF_A_PATCH_RELEASE.sub(" ", lock.read_text())
                    (Path(folder) / lock.name).write_text(text)
                    command.append(f"--requirement={Path(folder) / lock.name}")
                subprocess.run(command, check=True, timeout=300)
            _forget(f"wheels-{image}-*")
            fresh.rename(made)
            made.chmod(0o755)
    return made


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _forget(pattern: str) -> None:
    for old in CACHE.glob(pattern):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
