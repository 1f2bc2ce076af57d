"""What the lock files pin."""

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINNED = re.compile(r"^(?P<requirement>[A-Za-z0-9][^\\\n]*==[^\\\n]*?) *\\$", re.MULTILINE)


def pinned(lock: Path, python: str) -> dict[str, str]:
    """The version of each package that is for this version of Python on Linux."""
    environment = {"python_full_version": python, "python_version": python.rpartition(".")[0], "sys_platform": "linux"}
    found = [Requirement(match["requirement"]) for match in PINNED.finditer(lock.read_text())]
    return {
        canonicalize_name(it.name): next(iter(it.specifier)).version
        for it in found
        if it.marker is None or it.marker.evaluate(environment)
    }
