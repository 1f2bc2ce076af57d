"""Exchanges in which nothing moves are ended; slow ones are not."""

import asyncio
import contextlib

import pytest

from gateway.config import Limits
from gateway.relay import Watchdog, watchdog
from gateway.relay.engine import EngineTimeoutError
from tests.relay.exchanges import Passing, turns
from tests.support.wire import chunk


class Watch:
    """A watchdog on a clock of its own: 15 s for the first byte, 5 s for everything else."""

    def __init__(self) -> None:
        self.dog = Watchdog(Limits(first_byte_seconds=15, idle_seconds=5, client_stall_seconds=5))
        self.time = 1000.0

    def passing(self) -> Passing:
        """An exchange that it does not watch yet."""
        return Passing(lambda: self.time)

    async def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.time += 1
            self.dog.look()
            await turns()

    async def lasts(self, passing: Passing, seconds: int) -> bool:
        """Whether the exchange and its client are still there after so long."""
        await self.wait(seconds)
        return passing.exchange.error is None and not passing.downstream.aborted


@pytest.fixture
def watch() -> Watch:
    return Watch()


async def test_it_looks_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "_PERIOD", 0.001)
    dog, looks = Watchdog(Limits()), asyncio.Semaphore(0)
    monkeypatch.setattr(dog, "look", looks.release)
    running = asyncio.create_task(dog.run())
    for _ in range(3):
        await asyncio.wait_for(looks.acquire(), 10)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def test_no_first_byte(watch: Watch) -> None:
    passing = watch.passing()
    watch.dog.add(passing.exchange)
    assert await watch.lasts(passing, 15)
    await watch.wait(1)
    assert isinstance(passing.exchange.error, EngineTimeoutError)
    assert "first byte" in str(passing.exchange.error)
    assert passing.wire.closed


async def test_a_head_is_no_first_byte(watch: Watch) -> None:
    """The body has to begin: some servers send their head at once and think later."""
    passing = watch.passing()
    watch.dog.add(passing.exchange)
    passing.begin()
    assert await watch.lasts(passing, 15)
    await watch.wait(1)
    assert isinstance(passing.exchange.error, EngineTimeoutError)
    assert passing.exchange.error.answered


async def test_a_stream_that_stops(watch: Watch) -> None:
    passing = watch.passing()
    passing.begin(chunk(b"one"))
    watch.dog.add(passing.exchange)
    passing.deliver()
    assert await watch.lasts(passing, 5)
    await watch.wait(1)
    assert isinstance(passing.exchange.error, EngineTimeoutError)
    assert not await passing.result()


async def test_a_slow_stream_goes_on(watch: Watch) -> None:
    """A comment now and then is enough, even where no whole event comes."""
    passing = watch.passing()
    passing.begin(chunk(b"one"))
    watch.dog.add(passing.exchange)
    passing.deliver()
    for _ in range(6):
        assert await watch.lasts(passing, 4)
        passing.wire.sends(chunk(b":"))


async def test_a_client_that_does_not_read(watch: Watch) -> None:
    passing = watch.passing()
    passing.begin(chunk(b"one"))
    watch.dog.add(passing.exchange)
    passing.deliver()
    await turns()
    passing.downstream.stall()
    passing.wire.sends(chunk(b"two"))
    assert await watch.lasts(passing, 5)
    await watch.wait(1)
    assert passing.downstream.aborted
    assert not await passing.result()
    assert passing.exchange.error is None, "the engine is not to blame"


async def test_a_client_that_reads_slowly_may_go_on(watch: Watch) -> None:
    """Every look finds it waiting, and every time a little further."""
    passing = watch.passing()
    passing.begin(chunk(b"one"))
    watch.dog.add(passing.exchange)
    passing.deliver()
    await turns()
    for _ in range(8):
        passing.downstream.stall()
        passing.wire.sends(chunk(b"two"))
        assert await watch.lasts(passing, 4)
        passing.downstream.read_on()
        await turns()


async def test_a_client_that_reads_slowly_what_came_before_the_delivery(watch: Watch) -> None:
    passing = watch.passing()
    passing.begin(*[chunk(b"x" * 50_000)] * 6)
    watch.dog.add(passing.exchange)
    passing.downstream.stall()
    passing.deliver()
    for _ in range(8):
        assert await watch.lasts(passing, 4)
        passing.wire.sends(chunk(b"x" * 300_000))
        passing.downstream.read_on()
        await turns(1)
        passing.downstream.stall()


async def test_a_client_that_does_not_read_the_end(watch: Watch) -> None:
    passing = watch.passing()
    passing.begin(chunk(b"one"))
    watch.dog.add(passing.exchange)
    passing.downstream.stall()
    passing.deliver()
    passing.wire.sends(b"0\r\n\r\n")
    assert passing.exchange.ended
    await watch.wait(5)
    assert not passing.downstream.aborted
    await watch.wait(1)
    assert passing.downstream.aborted


async def test_new_limits_hold_at_once(watch: Watch) -> None:
    passing = watch.passing()
    watch.dog.add(passing.exchange)
    watch.dog.limits = Limits(first_byte_seconds=60)
    assert await watch.lasts(passing, 60)
    watch.dog.limits = Limits(first_byte_seconds=15)
    assert not await watch.lasts(passing, 1)


async def test_what_is_over_is_let_go(watch: Watch) -> None:
    passing = watch.passing()
    watch.dog.add(passing.exchange)
    watch.dog.remove(passing.exchange)
    watch.dog.remove(passing.exchange)
    assert await watch.lasts(passing, 60)
