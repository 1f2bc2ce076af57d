"""A demo measures the gateway that it started, or nothing: another one may hold the port."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from gateway.demo.gateway import is_ready, start
from gateway.demo.process import Child, ChildFailedError
from gateway.demo.stage import measure
from tests.docs.session import free_port
from tests.support.threads import EngineThread


@pytest.fixture
def engines(engine_thread: EngineThread) -> Iterator[list[dict[str, str]]]:
    """Two demos' engines, by pool."""
    with engine_thread.engines(4) as (a, b, c, d):
        yield [{"speculative": a.url, "baseline": b.url}, {"speculative": c.url, "baseline": d.url}]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_second_demo_ends_with_its_gateways_words_where_a_first_took_the_port(
    engines: list[dict[str, str]], stack: ExitStack, tmp_path: Path
) -> None:
    ours, theirs = (tmp_path / name for name in ("ours", "theirs"))
    ours.mkdir()
    theirs.mkdir()
    port = stack.enter_context(free_port())
    run = partial(start, stack, port=port, threshold=4, slots=16)
    _, url = run(theirs, engines=engines[0])
    with pytest.raises(
        ChildFailedError, match=rf"gateway ended with status 1(?s:.*)can't listen on 127\.0\.0\.1:{port}"
    ):
        run(ours, engines=engines[1])
    assert is_ready(url, engines[0])
    assert not is_ready(url, engines[1])


class Mortal(Child):
    """Dies when it has been found alive so many times."""

    def __init__(self, looks: int, folder: Path) -> None:
        super().__init__("mortal", "http.server", ["0", "--bind", "127.0.0.1"], folder / "mortal.log")
        self._looks = looks

    def check_alive(self) -> None:
        if not self._looks:
            self.kill()
        self._looks -= 1
        super().check_alive()


@pytest.mark.parametrize(("looks", "rows"), [(0, 0), (2, 0), (8, 6)])
def test_measuring_stops_at_the_row_during_which_a_child_ended_though_requests_are_still_answered(
    looks: int,
    rows: int,
    engines: list[dict[str, str]],
    stack: ExitStack,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = stack.enter_context(free_port())
    gateway, url = start(stack, tmp_path, port=port, engines=engines[0], threshold=4, slots=16)
    child = stack.enter_context(Mortal(looks, tmp_path))
    with pytest.raises(ChildFailedError, match="mortal ended with status -9"):
        asyncio.run(measure(url, [gateway, child]))
    printed = capsys.readouterr().out.splitlines()
    assert sum(line.lstrip()[:1].isdigit() and "%)" in line for line in printed) == rows
