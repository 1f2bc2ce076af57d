"""Coroutines run without a task."""

import asyncio
from typing import Any

import pytest

from gateway.server.driver import Driver


class Work:
    """A coroutine that waits for `future`, and how it fared."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.steps: list[str] = []

    async def run(self) -> None:
        self.steps.append("began")
        try:
            await self.future
            self.steps.append("resumed")
        except asyncio.CancelledError:
            self.steps.append("cancelled")


def start(work: Work, running: set[Any]) -> Driver:
    return Driver(work.run(), running, asyncio.get_running_loop())


async def test_it_runs_by_turns_of_the_loop_until_it_has_ended() -> None:
    work, running = Work(), set[Any]()
    driver = start(work, running)
    assert work.steps == []
    await asyncio.sleep(0)
    assert work.steps == ["began"]
    assert running == {driver}
    work.future.set_result(None)
    assert work.steps == ["began"]
    await driver
    assert work.steps == ["began", "resumed"]
    assert not running
    await driver


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "as it is about to go on"])
async def test_it_is_cancelled_like_a_task(late: bool) -> None:
    work, running = Work(), set[Any]()
    driver = start(work, running)
    await asyncio.sleep(0)
    if late:
        work.future.set_result(None)
    driver.cancel(msg="why")
    await driver
    assert work.steps == ["began", "cancelled"]
    assert not running


async def test_a_coroutine_that_only_yields_goes_on_in_the_next_turn() -> None:
    steps = []

    async def run() -> None:
        await asyncio.sleep(0)
        steps.append("next turn")

    await Driver(run(), set(), asyncio.get_running_loop())
    assert steps == ["next turn"]


async def test_it_may_be_cancelled_before_it_has_begun() -> None:
    work, running = Work(), set[Any]()
    driver = start(work, running)
    driver.cancel()
    await driver
    assert work.steps == []
    assert not running


async def test_others_may_go_on_before_each_step() -> None:
    calls: list[str] = []
    work, running = Work(), set[Any]()
    work.steps = calls
    driver = Driver(work.run(), running, asyncio.get_running_loop(), lambda: calls.append("before"))
    await asyncio.sleep(0)
    work.future.set_result(None)
    await driver
    assert calls == ["before", "began", "before", "resumed"]
