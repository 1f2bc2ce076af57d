"""Notices that a configuration's files have changed, by content, and has the new one applied if it is good.

Modification times and inotify both miss cases that matter: a ConfigMap is swapped by a symlink two levels up, some
editors and copies keep the time, and network file systems send no events. Reading a few kilobytes a second does not.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .errors import ConfigError, Problem, Source
from .files import digest_of, is_stream
from .load import Loaded

_SETTLE_SECONDS = 0.2


@dataclass(frozen=True)
class ReloadResult:
    """How a change ended; `unchanged`: the files are again, or still, those of the configuration that is serving."""

    outcome: Literal["applied", "refused", "unchanged"]
    loaded: Loaded | None = None
    error: ConfigError | None = None


class ConfigWatcher:
    """Polls the configuration's files and reloads it when their content changes.

    `load` reads and validates, raising ConfigError; it is called in another thread. `apply` puts a validated
    configuration to work and may raise ConfigError to refuse it, in which case the old one must still be serving. Each
    distinct content is reported once to `on_result`. `interval` is seconds between polls. `current` is the
    configuration that serves now: when left out, what `load` gives at construction is taken to be it.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[], Loaded],
        apply: Callable[[Loaded], None],
        interval: float = 1.0,
        *,
        on_result: Callable[[ReloadResult], None],
        current: Loaded | None = None,
    ) -> None:
        self._path = path
        self._load = load
        self._apply = apply
        self._interval = interval
        self._on_result = on_result
        self._wake = asyncio.Event()
        self._forced = False
        self._serving: tuple[Source, ...] | None = None
        # Unlike anything that can be found, so that what cannot be loaded now is reported.
        self._seen: tuple[Source, ...] = (Source(path, ""),)
        with contextlib.suppress(ConfigError):
            self._serving = self._seen = (current or load()).sources

    def trigger(self) -> None:
        """Has the files read now, and the result reported even if nothing has changed.

        Call it in the event loop's thread, as `loop.add_signal_handler` does.
        """
        self._forced = True
        self._wake.set()

    async def run(self) -> None:
        """Watches until cancelled."""
        pending: tuple[Source, ...] | None = None
        while True:
            await self._pause(self._interval if pending is None else min(self._interval, _SETTLE_SECONDS))
            now = tuple(Source(source.path, digest_of(source.path)) for source in self._seen)
            if self._forced:
                self._forced, pending = False, None
                await self._reload(now)
            elif now == self._seen:
                pending = None
            elif now != pending:
                # A file that is still being written is left alone until two looks find the same.
                pending = now
            else:
                pending = None
                await self._reload(now)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return
        self._wake.clear()

    async def _reload(self, now: tuple[Source, ...]) -> None:
        self._seen = now
        try:
            if is_stream(self._path):
                raise ConfigError([Problem("is a pipe or a device, which cannot be read again", file=self._path)])
            # Parsing a large file takes a tenth of a second, in which streams must go on.
            loaded = await asyncio.to_thread(self._load)
            # What was read in loading may be newer than what was seen.
            self._seen = loaded.sources
            if loaded.sources == self._serving:
                result = ReloadResult("unchanged", loaded)
            else:
                self._apply(loaded)
                self._serving = loaded.sources
                result = ReloadResult("applied", loaded)
        except ConfigError as error:
            self._seen = error.sources or self._seen
            result = ReloadResult("refused", error=error)
        except Exception as error:
            problem = Problem(f"could not be applied: {type(error).__name__}: {error}", file=self._path)
            refusal = ConfigError([problem])
            refusal.__cause__ = error
            result = ReloadResult("refused", error=refusal)
        self._on_result(result)
