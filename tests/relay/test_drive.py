"""Coroutines run without a task: those that do not wait, wait, raise, or are given up."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.drive import Alarm, Driven, Waker, run
from gateway.server.driver import Driver


class Done:
    """Counts how often it was told."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def after(*waits: Callable[[], Awaitable[object]], value: str = "value") -> str:
    for wait in waits:
        await wait()
    return value


async def turn() -> None:
    await asyncio.sleep(0)


async def wait_for(future: asyncio.Future[None]) -> None:
    await future


async def settle() -> None:
    """Let everything run that is due."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_that_does_not_wait_ends_in_the_call() -> None:
    done = Done()
    assert run(after(), done) == "value"
    await settle()
    assert done.count == 0


async def test_one_that_does_not_wait_and_raises() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(fail(), Done())


async def test_one_that_waits_is_carried_on() -> None:
    done, gate = Done(), asyncio.Event()
    driven = run(after(turn, gate.wait, turn, lambda: asyncio.sleep(0.001)), done)
    assert isinstance(driven, Driven)
    await settle()
    assert (driven.done, driven.value, done.count) == (False, None, 0)
    gate.set()
    await asyncio.sleep(0.01)
    assert (driven.done, driven.value, driven.error, done.count) == (True, "value", None, 1)
    driven.close()
    assert driven.value == "value"


async def test_one_that_waits_and_raises() -> None:
    async def fail() -> None:
        await turn()
        raise ZeroDivisionError

    done = Done()
    driven = run(fail(), done)
    assert isinstance(driven, Driven)
    await settle()
    assert driven.done
    assert isinstance(driven.error, ZeroDivisionError)
    assert done.count == 1


async def test_what_is_waited_for_fails() -> None:
    """By an exception or by being cancelled: both arrive where the coroutine waits."""
    for cancel in (False, True):
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done = Done()
        driven = run(after(partial(wait_for, future)), done)
        assert isinstance(driven, Driven)
        if cancel:
            future.cancel()
        else:
            future.set_exception(ZeroDivisionError())
        await settle()
        assert isinstance(driven.error, asyncio.CancelledError if cancel else ZeroDivisionError)
        assert done.count == 1


async def test_one_that_is_given_up() -> None:
    """It leaves where it waits, cleans up behind itself, and nothing is told."""
    gate, done, cleaned = asyncio.Event(), Done(), list[str]()

    async def work() -> None:
        try:
            await gate.wait()
        finally:
            cleaned.append("cleaned")

    driven = run(work(), done)
    assert isinstance(driven, Driven)
    driven.close()
    driven.close()
    assert cleaned == ["cleaned"]
    gate.set()
    await settle()
    assert (driven.done, done.count) == (False, 0)


async def test_one_that_is_given_up_while_it_is_due() -> None:
    gate, done = asyncio.Event(), Done()
    driven = run(after(gate.wait), done)
    assert isinstance(driven, Driven)
    gate.set()
    driven.close()
    await settle()
    assert done.count == 0


async def test_it_works_beside_a_lock_and_a_task() -> None:
    """What it waits for is woken in its turn, like anybody else."""
    lock, order = asyncio.Lock(), list[str]()

    async def use(name: str) -> None:
        async with lock:
            order.append(name)
            await turn()

    first = asyncio.create_task(use("task"))
    await turn()
    second = run(use("driven"), Done())
    third = asyncio.create_task(use("another"))
    await asyncio.gather(first, third)
    assert isinstance(second, Driven)
    assert second.done
    assert order == ["task", "driven", "another"]


# Waker


async def test_a_wake_before_the_wait_is_kept() -> None:
    waker = Waker(asyncio.get_running_loop())
    waker.wake()
    waker.wake()
    await asyncio.wait_for(waker.wait(), 1)
    waiting = asyncio.ensure_future(waker.wait())
    await settle()
    assert not waiting.done(), "two wakes before one wait are one"
    waker.wake()
    await asyncio.wait_for(waiting, 1)


async def test_a_wake_during_the_wait() -> None:
    waker = Waker(asyncio.get_running_loop())
    waiting = asyncio.ensure_future(waker.wait())
    await settle()
    waker.wake()
    waker.wake()
    await asyncio.wait_for(waiting, 1)


async def test_a_wait_that_is_cancelled_can_be_repeated() -> None:
    waker = Waker(asyncio.get_running_loop())
    waiting = asyncio.ensure_future(waker.wait())
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    waker.wake()
    await asyncio.wait_for(waker.wait(), 1)


async def prompted() -> tuple[Waker, list[str], Driver]:
    """A driven coroutine that waits to be resumed."""
    waker, steps = Waker(asyncio.get_running_loop()), list[str]()

    async def work() -> None:
        try:
            await waker.prompted()
            steps.append("resumed")
            await waker.wait()
            steps.append("woken")
        except asyncio.CancelledError:
            steps.append("cancelled")

    driver = Driver(work(), set(), asyncio.get_running_loop())
    await settle()
    return waker, steps, driver


async def test_who_waits_to_be_resumed_goes_on_in_the_same_call() -> None:
    waker, steps, driver = await prompted()
    waker.resume()
    assert steps == ["resumed"]
    waker.resume()
    assert steps == ["resumed"], "who waits otherwise is woken by the loop"
    await driver
    assert steps == ["resumed", "woken"]


async def test_who_waits_to_be_resumed_can_be_woken() -> None:
    waker, steps, driver = await prompted()
    waker.wake()
    waker.resume()
    assert steps == []
    await settle()
    assert steps == ["resumed"]
    waker.wake()
    await driver


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "as it is about to go on"])
async def test_who_waits_to_be_resumed_can_be_cancelled(late: bool) -> None:
    waker, steps, driver = await prompted()
    if late:
        waker.wake()
    driver.cancel()
    waker.resume()
    await settle()
    assert steps == ["cancelled"]
    await driver


async def test_a_wake_before_the_wait_to_be_resumed_is_kept() -> None:
    waker = Waker(asyncio.get_running_loop())
    waker.resume()
    await asyncio.wait_for(waker.prompted(), 1)


@given(st.lists(st.sampled_from(["wake", "look", "turn"]), max_size=30))
def test_no_wake_is_missed(steps: list[str]) -> None:
    """Whoever looks at the state, and waits when there is nothing, has seen it all in the end."""

    async def main() -> None:
        waker = Waker(asyncio.get_running_loop())
        made = seen = 0

        async def watch() -> None:
            nonlocal seen
            while True:
                seen = made
                await waker.wait()

        watching = asyncio.ensure_future(watch())
        for step in steps:
            if step == "wake":
                made += 1
                waker.wake()
            elif step == "turn":
                await asyncio.sleep(0)
        await settle()
        assert seen == made
        watching.cancel()

    asyncio.run(main())


async def test_an_alarm_rings_once() -> None:
    done = Done()
    alarm = Alarm(asyncio.get_running_loop(), 0.005, done)
    assert not alarm.rung
    await asyncio.sleep(0.02)
    assert (alarm.rung, done.count) == (True, 1)


@pytest.mark.parametrize("seconds", [0.0, -5.0])
async def test_an_alarm_for_now(seconds: float) -> None:
    done = Done()
    alarm = Alarm(asyncio.get_running_loop(), seconds, done)
    await asyncio.sleep(0.002)
    assert (alarm.rung, done.count) == (True, 1)


async def test_an_alarm_that_is_cancelled() -> None:
    done = Done()
    alarm = Alarm(asyncio.get_running_loop(), 0.0, done)
    alarm.cancel()
    await asyncio.sleep(0.002)
    assert (alarm.rung, done.count) == (False, 0)
