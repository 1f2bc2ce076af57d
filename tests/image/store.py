"""Images and containers in a folder of the tests' own, apart from the machine's: buildah and podman, no daemon."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The limits can be set where the tests run in a container themselves. The folders in `storage` are where podman looks
# for them when conmon calls it at a container's end.
CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "runc"
static_dir = "{folder}/storage/libpod"
tmp_dir = "{folder}/tmp"
volume_path = "{folder}/storage/volumes"
"""
STORAGE_CONF = """
[storage]
driver = "{driver}"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


class ToolError(Exception):
    """A command that failed; carries it with what it wrote."""


def as_root(command: list[str], environment: dict[str, str] | None = None, seconds: float = 300) -> str:
    """Run as root, through sudo if need be, and return what it prints. Raises ToolError."""
    whole = [*root_prefix(environment or {}), *command]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise ToolError(f"{' '.join(whole)}: exit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def root_prefix(environment: dict[str, str]) -> list[str]:
    """What to put before a command for it to run as root with these variables."""
    given = ["env", f"PATH={os.environ['PATH']}:/usr/sbin:/sbin", *(f"{k}={v}" for k, v in environment.items())]
    return given if os.geteuid() == 0 else ["sudo", "--non-interactive", *given]


class Store:
    """Where images and containers are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        containers, storage = folder / "containers.conf", folder / "storage.conf"
        containers.write_text(CONTAINERS_CONF.format(folder=folder))
        storage.write_text(STORAGE_CONF.format(folder=folder, driver=_driver(folder)))
        self.environment = {
            "CONTAINERS_CONF": str(containers),
            "CONTAINERS_STORAGE_CONF": str(storage),
            "BUILDAH_ISOLATION": "chroot",
        }

    def podman(self, *arguments: str | Path, seconds: float = 60) -> str:
        """Run podman and return what it prints. Raises ToolError."""
        return as_root(["podman", *map(str, arguments)], self.environment, seconds)

    def builder(self) -> str:
        """The command that builds from a Dockerfile as `docker build` does."""
        return " ".join([*root_prefix(self.environment), "buildah", "bud", "--pull-never"])

    def close(self) -> None:
        """Stop what runs, and leave nothing."""
        try:
            self.podman("rm", "--all", "--force", "--time=0")
        finally:
            as_root(["rm", "--recursive", "--force", str(self.folder)])


@contextmanager
def store() -> Iterator[Store]:
    """An empty one, removed at the end with all that is in it."""
    opened = Store(Path(tempfile.mkdtemp(prefix="spillway-image-")))
    try:
        yield opened
    finally:
        opened.close()


def _driver(folder: Path) -> str:
    """`overlay` where the kernel mounts it here; else `vfs`, which copies the image for every container."""
    layers = {name: folder / "probe" / name for name in ("lowerdir", "upperdir", "workdir", "merged")}
    for layer in layers.values():
        layer.mkdir(parents=True)
    merged = str(layers.pop("merged"))
    options = ",".join(f"{name}={path}" for name, path in layers.items())
    try:
        as_root(["mount", "-t", "overlay", "-o", options, "overlay", merged])
    except ToolError:
        return "vfs"
    else:
        as_root(["umount", merged])
        return "overlay"
    finally:
        as_root(["rm", "--recursive", str(folder / "probe")])


def find_tools() -> None:
    """Install what is missing. Raises ToolError with what to do where that is not possible."""
    if os.geteuid() != 0 and not shutil.which("sudo"):
        raise ToolError("tests/image runs containers: run the tests as root, or where sudo needs no password.")
    as_root(["true"])
    script = Path(__file__).parents[2] / "scripts" / "image-tools.sh"
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise ToolError(f"scripts/image-tools.sh: {done.stdout}{done.stderr}")
