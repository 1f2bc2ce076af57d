"""The watcher over real files, changed in all the ways that editors, tools and Kubernetes change them."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.config import ConfigError, ConfigWatcher, Loaded, Problem, ReloadResult, load_config
from tests.config.support import MODELS, write
from tests.config.watching import INTERVAL, QUIET, ConfigMap, config, threshold, watching

BAD = "models: [\n"


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def atomically(path: Path, text: str) -> None:
    write(path.parent, text, "new")
    (path.parent / "new").rename(path)


def keeping_the_time(path: Path, text: str) -> None:
    status = path.stat()
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def through_another_link(path: Path, text: str) -> None:
    write(path.parent, text, "other")
    path.unlink()
    path.symlink_to("other")


@pytest.mark.parametrize("change", [in_place, atomically, keeping_the_time, through_another_link])
async def test_a_change_is_applied_once(change: Callable[[Path, str], None], tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        await watched.quiet(0)
        change(watched.path, config(6))
        await watched.reported(1)
        assert watched.applied == [6]
        assert watched.outcomes == ["applied"]
        assert watched.results[0].loaded is not None
        assert watched.results[0].loaded.digest == load_config(watched.path, {}).digest
        change(watched.path, config(7))
        await watched.reported(2)
        assert watched.applied == [6, 7]


async def test_config_map_swaps(tmp_path: Path) -> None:
    config_map = ConfigMap(tmp_path, config(5))
    async with watching(config_map.path) as watched:
        for round_, value in enumerate((6, 7, 8), start=1):
            config_map.update(config(value))
            await watched.reported(round_)
        assert watched.applied == [6, 7, 8]
        config_map.update(BAD)
        await watched.reported(4)
        config_map.update(config(9))
        await watched.reported(5)
        assert watched.applied == [6, 7, 8, 9]
        assert watched.outcomes == ["applied"] * 3 + ["refused", "applied"]


async def test_an_unchanged_file_costs_no_load(tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        for _ in range(3):
            os.utime(watched.path)
            await watched.quiet(0)
        assert watched.loads == 0


async def test_a_bad_file_is_refused_once_and_the_old_serves(tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        in_place(watched.path, BAD)
        await watched.reported(1)
        assert watched.loads == 1
        in_place(watched.path, MODELS + "limit: {}\n")
        await watched.reported(2)
        assert watched.outcomes == ["refused", "refused"]
        assert watched.applied == []
        assert watched.reasons()[1] == "unknown field; did you mean 'limits'?"


async def test_going_back_to_what_serves_is_reported_without_applying_it_again(tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        in_place(watched.path, BAD)
        await watched.reported(1)
        in_place(watched.path, config(5))
        await watched.reported(2)
        assert watched.outcomes == ["refused", "unchanged"]
        assert watched.applied == []


async def test_a_file_that_is_being_written_is_not_judged(tmp_path: Path) -> None:
    """In every step the file is truncated YAML, or valid and incomplete; only the last is to be seen."""
    text = config(6) + "# the end\n"
    async with watching(write(tmp_path, config(5))) as watched:
        with watched.path.open("w") as file:
            for position in range(0, len(text), 8):
                file.write(text[position : position + 8])
                file.flush()
                await asyncio.sleep(INTERVAL / 4)
        await watched.reported(1)
        assert watched.outcomes == ["applied"]
        assert watched.applied == [6]


async def test_a_write_that_stops_midway_is_refused_and_finished_later(tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        in_place(watched.path, config(6)[:40])
        await watched.reported(1)
        with watched.path.open("a") as file:
            file.write(config(6)[40:])
        await watched.reported(2)
        assert watched.outcomes == ["refused", "applied"]
        assert watched.applied == [6]


async def test_deleted_and_restored(tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        watched.path.unlink()
        await watched.reported(1)
        assert watched.reasons() == ["does not exist"]
        write(tmp_path, config(6))
        await watched.reported(2)
        assert watched.outcomes == ["refused", "applied"]
        assert watched.applied == [6]


async def test_the_folder_goes_away_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    async with watching(write(folder, config(5))) as watched:
        folder.rename(tmp_path / "gone")
        await watched.reported(1)
        (tmp_path / "gone").rename(folder)
        await watched.reported(2)
        assert watched.outcomes == ["refused", "unchanged"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary"])
async def test_something_else_in_the_place_of_the_file(kind: str, tmp_path: Path) -> None:
    async with watching(write(tmp_path, config(5))) as watched:
        watched.path.unlink()
        if kind == "folder":
            watched.path.mkdir()
        elif kind == "pipe":
            os.mkfifo(watched.path)
        else:
            watched.path.write_bytes(os.urandom(4096))
        await watched.reported(1)
        assert watched.outcomes == ["refused"]


async def test_what_cannot_be_applied_is_refused_and_the_old_serves(tmp_path: Path) -> None:
    def keep_the_port(loaded: Loaded) -> None:
        if loaded.config.listen.port != 8080:
            raise ConfigError([Problem("cannot change without a restart", "listen.port")])

    async with watching(write(tmp_path, config(5)), keep_the_port) as watched:
        in_place(watched.path, config(6) + "listen: {port: 1}\n")
        await watched.reported(1)
        assert watched.reasons() == ["cannot change without a restart"]
        in_place(watched.path, config(7))
        await watched.reported(2)
        assert watched.outcomes == ["refused", "applied"]
        assert watched.applied == [7]


async def test_a_fault_in_applying_does_not_end_the_watch(tmp_path: Path) -> None:
    def fail(loaded: Loaded) -> None:
        if threshold(loaded) == 6:
            raise RuntimeError("no memory")

    async with watching(write(tmp_path, config(5)), fail) as watched:
        in_place(watched.path, config(6))
        await watched.reported(1)
        assert watched.reasons() == ["could not be applied: RuntimeError: no memory"]
        in_place(watched.path, config(7))
        await watched.reported(2)
        assert watched.applied == [7]


async def test_a_keys_file_is_watched(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("one\n")
    async with watching(write(tmp_path, config(5) + "auth: {keys_file: keys}\n")) as watched:
        keys.write_text("two\n")
        await watched.reported(1)
        assert watched.results[0].loaded is not None
        assert watched.results[0].loaded.client_keys == ("two",)
        keys.unlink()
        await watched.reported(2)
        assert watched.reasons() == [f"'{keys}' does not exist"]
        keys.write_text("three\n")
        await watched.reported(3)
        assert watched.outcomes == ["applied", "refused", "applied"]


async def test_a_file_that_a_new_configuration_names_is_watched(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("one\n")
    async with watching(write(tmp_path, config(5))) as watched:
        in_place(watched.path, config(6) + "auth: {keys_file: keys}\n")
        await watched.reported(1)
        (tmp_path / "keys").write_text("two\n")
        await watched.reported(2)
        assert watched.outcomes == ["applied", "applied"]


async def test_a_file_that_a_refused_configuration_waits_for_is_watched(tmp_path: Path) -> None:
    """A ConfigMap may be mounted before the Secret that it names."""
    async with watching(write(tmp_path, config(5))) as watched:
        in_place(watched.path, config(6) + "auth: {keys_file: keys}\n")
        await watched.reported(1)
        (tmp_path / "keys").write_text("one\n")
        await watched.reported(2)
        assert watched.outcomes == ["refused", "applied"]


async def test_a_change_while_a_change_is_loaded_is_not_missed(tmp_path: Path) -> None:
    path = write(tmp_path, config(5))

    def change_again(loaded: Loaded) -> None:
        if threshold(loaded) == 6:
            in_place(path, config(7))

    async with watching(path, change_again) as watched:
        in_place(path, config(6))
        await watched.reported(2)
        assert watched.applied == [6, 7]


async def test_a_change_before_the_watch_is_seen_when_told_what_serves(tmp_path: Path) -> None:
    path = write(tmp_path, config(5))
    current = load_config(path, {})
    in_place(path, config(6))
    results: list[ReloadResult] = []
    applied: list[Loaded] = []
    watcher = ConfigWatcher(
        path, lambda: load_config(path, {}), applied.append, INTERVAL, on_result=results.append, current=current
    )
    with running(watcher):
        await asyncio.sleep(QUIET)
    assert [threshold(loaded) for loaded in applied] == [6]


@contextmanager
def running(watcher: ConfigWatcher) -> Iterator[None]:
    task = asyncio.create_task(watcher.run())
    try:
        yield
    finally:
        task.cancel()


async def test_trigger_looks_at_once_and_always_reports(tmp_path: Path) -> None:
    path = write(tmp_path, config(5))
    results: asyncio.Queue[ReloadResult] = asyncio.Queue()
    applied: list[Loaded] = []
    watcher = ConfigWatcher(
        path, lambda: load_config(path, {}), applied.append, interval=3600, on_result=results.put_nowait
    )
    with running(watcher):
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            for text, outcome in (
                (config(5), "unchanged"),
                (config(6), "applied"),
                (config(6), "unchanged"),
                (BAD, "refused"),
                (BAD, "refused"),
                (config(6), "unchanged"),
            ):
                in_place(path, text)
                watcher.trigger()
                assert (await results.get()).outcome == outcome
    assert [threshold(loaded) for loaded in applied] == [6]


async def test_a_file_that_is_bad_from_the_start_is_reported(tmp_path: Path) -> None:
    async with watching(write(tmp_path, BAD)) as watched:
        await watched.reported(1)
        in_place(watched.path, config(6))
        await watched.reported(2)
        assert watched.outcomes == ["refused", "applied"]
