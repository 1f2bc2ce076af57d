"""The files of an image."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.image.image import Image
from tests.image.store import as_root

VENV = "opt/spillway"


@dataclass(frozen=True)
class Files:
    """Paths have no leading slash."""

    archive: Path
    members: dict[str, tarfile.TarInfo]

    @classmethod
    def of(cls, image: Image) -> "Files":
        """Those that a container of it sees. Raises ToolError."""
        archive = image.store.folder / "files.tar"
        container = image.store.podman("create", "--pull=never", image.name).strip()
        image.store.podman("export", f"--output={archive}", container, seconds=120)
        image.store.podman("rm", container)
        as_root(["chmod", "a+r", str(archive)])
        with tarfile.open(archive) as opened:
            return cls(archive, {member.name: member for member in opened})

    def contents(self, under: str = "") -> Iterator[tuple[str, bytes]]:
        """Each regular file whose path begins so, with what is in it."""
        with tarfile.open(self.archive) as opened:
            for member in self.members.values():
                if member.isreg() and member.name.startswith(under) and (file := opened.extractfile(member)):
                    yield member.name, file.read()

    def size(self, under: str = "") -> int:
        """Bytes of the files whose path begins so."""
        return sum(member.size for member in self.members.values() if member.name.startswith(under))
