"""Exchanges in which nothing moves are ended; slow ones are not."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from gateway.config import Limits
from gateway.relay import Watchdog, watchdog
from gateway.relay.engine import EngineTimeoutError
from tests.relay.exchanges import Passing, turns
from tests.support.wire import chunk

PERIOD = 0.01


@pytest.fixture
async def dog(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watchdog]:
    """One that looks a hundred times a second, and whose limits are five looks; 150 ms for the first byte."""
    monkeypatch.setattr(watchdog, "_PERIOD", PERIOD)
    dog = Watchdog(Limits(first_byte_seconds=0.15, idle_seconds=0.05, client_stall_seconds=0.05))
    running = asyncio.create_task(dog.run())
    yield dog
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def lasts(passing: Passing, seconds: float) -> bool:
    """Whether the exchange and its client are still there after so long."""
    await asyncio.sleep(seconds)
    return passing.exchange.error is None and not passing.downstream.aborted


async def test_no_first_byte(dog: Watchdog) -> None:
    passing = Passing()
    dog.add(passing.exchange)
    assert await lasts(passing, 0.03)
    await asyncio.sleep(0.16)
    assert isinstance(passing.exchange.error, EngineTimeoutError)
    assert "first byte" in str(passing.exchange.error)
    assert passing.wire.closed


async def test_a_head_is_no_first_byte(dog: Watchdog) -> None:
    """The body has to begin: some servers send their head at once and think later."""
    passing = Passing()
    dog.add(passing.exchange)
    passing.begin()
    await asyncio.sleep(0.2)
    assert isinstance(passing.exchange.error, EngineTimeoutError)
    assert passing.exchange.error.answered


async def test_a_stream_that_stops(dog: Watchdog) -> None:
    passing = Passing()
    passing.begin(chunk(b"one"))
    dog.add(passing.exchange)
    passing.deliver()
    assert await lasts(passing, 0.03)
    await asyncio.sleep(0.08)
    assert isinstance(passing.exchange.error, EngineTimeoutError)
    assert not await passing.result()


async def test_a_slow_stream_goes_on(dog: Watchdog) -> None:
    """A comment now and then is enough, even where no whole event comes."""
    passing = Passing()
    passing.begin(chunk(b"one"))
    dog.add(passing.exchange)
    passing.deliver()
    for _ in range(6):
        assert await lasts(passing, 0.02)
        passing.wire.sends(chunk(b":"))


async def test_a_client_that_does_not_read(dog: Watchdog) -> None:
    passing = Passing()
    passing.begin(chunk(b"one"))
    dog.add(passing.exchange)
    passing.deliver()
    await turns()
    passing.downstream.stall()
    passing.wire.sends(chunk(b"two"))
    assert await lasts(passing, 0.02)
    await asyncio.sleep(0.08)
    assert passing.downstream.aborted
    assert not await passing.result()
    assert passing.exchange.error is None, "the engine is not to blame"


async def test_a_client_that_reads_slowly_may_go_on(dog: Watchdog) -> None:
    """Every look finds it waiting, and every time a little further."""
    passing = Passing()
    passing.begin(chunk(b"one"))
    dog.add(passing.exchange)
    passing.deliver()
    await turns()
    for _ in range(8):
        passing.downstream.stall()
        passing.wire.sends(chunk(b"two"))
        assert await lasts(passing, 0.025)
        passing.downstream.read_on()
        await turns()


async def test_a_client_that_reads_slowly_what_came_before_the_delivery(dog: Watchdog) -> None:
    passing = Passing()
    passing.begin(*[chunk(b"x" * 50_000)] * 6)
    dog.add(passing.exchange)
    passing.downstream.stall()
    passing.deliver()
    for _ in range(8):
        assert await lasts(passing, 0.025)
        passing.wire.sends(chunk(b"x" * 300_000))
        passing.downstream.read_on()
        await turns(1)
        passing.downstream.stall()


async def test_a_client_that_does_not_read_the_end(dog: Watchdog) -> None:
    passing = Passing()
    passing.begin(chunk(b"one"))
    dog.add(passing.exchange)
    passing.downstream.stall()
    passing.deliver()
    passing.wire.sends(b"0\r\n\r\n")
    assert passing.exchange.ended
    await asyncio.sleep(0.1)
    assert passing.downstream.aborted


async def test_new_limits_hold_at_once(dog: Watchdog) -> None:
    passing = Passing()
    dog.add(passing.exchange)
    dog.limits = Limits(first_byte_seconds=60)
    assert await lasts(passing, 0.2)


async def test_what_is_over_is_let_go(dog: Watchdog) -> None:
    passing = Passing()
    dog.add(passing.exchange)
    dog.remove(passing.exchange)
    dog.remove(passing.exchange)
    assert await lasts(passing, 0.2)
