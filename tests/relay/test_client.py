"""A request's body, and the news that its client has left."""

import asyncio
import gc
import time

import pytest

from gateway.api.errors import ApiError
from gateway.config import Limits
from gateway.relay.client import Client, ClientGoneError
from tests.relay.downstream import Downstream

LIMITS = Limits(body_bytes=100, body_seconds=0.05)


def reading(downstream: Downstream, declared: bytes | None = None, limits: Limits = LIMITS) -> asyncio.Task[bytes]:
    client = Client(downstream.scope(), downstream.receive, downstream.send)
    return asyncio.create_task(client.body(declared, limits))


@pytest.mark.parametrize("parts", [[b""], [b"hello"], [b"he", b"", b"llo"], [b"x" * 100]])
async def test_a_body_that_is_there(parts: list[bytes]) -> None:
    assert await reading(Downstream(*parts)) == b"".join(parts)


async def test_a_body_that_comes_in_time() -> None:
    """In all longer than the patience, which is for each pause."""
    downstream = Downstream()
    task = reading(downstream, limits=Limits(body_seconds=0.1))
    for _ in range(4):
        await asyncio.sleep(0.04)
        downstream.trickle(b"x" * 1000)
    downstream.upload(b"end")
    assert await asyncio.wait_for(task, 1) == b"x" * 4000 + b"end"


@pytest.mark.parametrize("declared", [b"101", b"9999999999999999999999"])
async def test_a_body_that_is_declared_too_large(declared: bytes) -> None:
    """It is refused unread."""
    with pytest.raises(ApiError) as refused:
        await reading(Downstream(), declared)
    assert (refused.value.status, refused.value.code) == (413, "request_too_large")
    assert (b"connection", b"close") in refused.value.headers


@pytest.mark.parametrize("declared", [None, b"100", b"five"])
async def test_a_body_that_is_too_large(declared: bytes | None) -> None:
    with pytest.raises(ApiError) as refused:
        await reading(Downstream(b"x" * 60, b"x" * 41), declared)
    assert refused.value.status == 413


async def test_a_body_that_stops() -> None:
    downstream = Downstream()
    task = reading(downstream)
    with pytest.raises(ApiError) as refused:
        await asyncio.wait_for(task, 1)
    assert (refused.value.status, refused.value.code) == (408, "request_timeout")
    downstream.upload(b"late")
    await asyncio.sleep(0)


def stand_still(seconds: float) -> None:
    """All timers that fall into it are due at its end, before anything is read."""
    time.sleep(seconds)


async def test_a_process_that_stood_still_reads_on() -> None:
    """Past the end of the time, however many pieces there are to read; the time goes on from there."""
    downstream = Downstream()
    task = reading(downstream, limits=Limits(body_seconds=0.2))
    await asyncio.sleep(0)
    stand_still(0.5)
    for _ in range(3):
        await asyncio.sleep(0.001)
        downstream.trickle(b"x")
    await asyncio.sleep(0.001)
    assert not task.done()
    with pytest.raises(ApiError) as refused:
        await asyncio.wait_for(task, 5)
    assert refused.value.status == 408


async def test_a_body_that_trickles() -> None:
    """However regularly: below a KiB a second in all, patience ends."""
    downstream = Downstream()
    task = reading(downstream, limits=Limits(body_seconds=0.2))
    began = asyncio.get_running_loop().time()
    while not task.done():
        downstream.trickle(b"x")
        await asyncio.sleep(0.02)
    assert asyncio.get_running_loop().time() - began < 0.5
    with pytest.raises(ApiError):
        task.result()


async def test_a_client_that_leaves_before_the_end() -> None:
    downstream = Downstream()
    task = reading(downstream)
    await asyncio.sleep(0.01)
    downstream.leave()
    with pytest.raises(ClientGoneError):
        await task


async def test_a_reading_that_is_cancelled_leaves_nothing_behind(recwarn: pytest.WarningsRecorder) -> None:
    downstream = Downstream()
    task = reading(downstream)
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    downstream.upload(b"late")
    await asyncio.sleep(0.01)
    gc.collect()
    assert not recwarn.list


async def test_watching() -> None:
    downstream = Downstream()
    client = downstream.client()
    assert not client.gone
    waiting = asyncio.create_task(client.waker.wait())
    await asyncio.sleep(0)
    downstream.leave()
    await asyncio.wait_for(waiting, 1)
    assert client.gone


async def test_a_client_that_left_before_it_was_watched() -> None:
    downstream = Downstream()
    downstream.leave()
    assert downstream.client().gone


async def test_who_is_not_watched_may_leave() -> None:
    """Once the response is as good as complete, that is no loss."""
    downstream = Downstream()
    client = downstream.client()
    client.unwatch()
    downstream.leave()
    assert not client.gone


async def test_an_abort_is_noticed() -> None:
    downstream = Downstream()
    client = downstream.client()
    client.abort()
    await asyncio.wait_for(client.waker.wait(), 1)
    assert client.gone
    assert downstream.aborted
