"""A watcher at work on real files, and a folder as Kubernetes mounts it."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from gateway.config import ConfigWatcher, Loaded, ReloadResult, load_config
from tests.config.support import MODELS, write

INTERVAL = 0.02
# Long enough for several looks at the files, on a busy machine too.
QUIET = 0.15


def config(threshold: int) -> str:
    return f"{MODELS}    policy: {{threshold: {threshold}}}\n"


def threshold(loaded: Loaded) -> int:
    policy = loaded.config.models[0].policy
    assert policy.kind == "threshold"
    return policy.threshold


class Watched:
    """A watcher at work: what it applied, in order, and what it reported."""

    def __init__(self, path: Path, apply: Callable[[Loaded], None] | None = None) -> None:
        self.path = path
        self.applied: list[int] = []
        self.results: list[ReloadResult] = []
        self.loads = 0
        self._reported = asyncio.Event()
        self._apply_first = apply
        self.watcher = ConfigWatcher(path, self._load, self._apply, INTERVAL, on_result=self._on_result)
        self.loads = 0

    def _load(self) -> Loaded:
        self.loads += 1
        return load_config(self.path, {})

    def _apply(self, loaded: Loaded) -> None:
        if self._apply_first is not None:
            self._apply_first(loaded)
        self.applied.append(threshold(loaded))

    def _on_result(self, result: ReloadResult) -> None:
        self.results.append(result)
        self._reported.set()

    @property
    def outcomes(self) -> list[str]:
        return [result.outcome for result in self.results]

    def reasons(self) -> list[str]:
        return [problem.reason for result in self.results if result.error for problem in result.error.problems]

    async def reported(self, count: int) -> None:
        """Waits for as many reports in all, and then whether there are more."""
        async with asyncio.timeout(10):
            while len(self.results) < count:
                self._reported.clear()
                await self._reported.wait()
        await self.quiet(count)

    async def quiet(self, count: int) -> None:
        await asyncio.sleep(QUIET)
        assert len(self.results) == count, self.outcomes


@asynccontextmanager
async def watching(path: Path, apply: Callable[[Loaded], None] | None = None) -> AsyncIterator[Watched]:
    watched = Watched(path, apply)
    task = asyncio.create_task(watched.watcher.run())
    await asyncio.sleep(3 * INTERVAL)
    try:
        yield watched
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class ConfigMap:
    """A folder as the kubelet keeps it: file -> ..data/file, ..data -> ..2026_1, replaced by renaming a symlink."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        self._versions: Iterator[int] = iter(range(1000))
        self.update(text)
        self.path = folder / "spillway.yaml"
        self.path.symlink_to("..data/spillway.yaml")

    def update(self, text: str) -> None:
        data = self.folder / "..data"
        old = data.resolve() if data.is_symlink() else None
        version = self.folder / f"..2026_11_29.{next(self._versions)}"
        version.mkdir()
        write(version, text)
        os.utime(version / "spillway.yaml", (0, 0))
        (self.folder / "..data_tmp").symlink_to(version.name)
        (self.folder / "..data_tmp").rename(data)
        if old is not None:
            shutil.rmtree(old)
