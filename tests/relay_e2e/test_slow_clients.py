"""Clients that send or read slowly hold little, and not for ever."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.behaviours import answer, stream
from tests.support.config import config
from tests.support.raw import RawClient, exchange, raw_client, request_bytes
from tests.support.site import Site, chat, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_delta, event

HEADER_SECONDS = 0.8
BODY_SECONDS = 0.8
STALL_SECONDS = 1.5
SLACK = 1.5  # seconds a busy machine may add


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    def settings(fast: Any, plain: Any) -> Any:
        limits = {
            "header_seconds": HEADER_SECONDS,
            "body_seconds": BODY_SECONDS,
            "client_stall_seconds": STALL_SECONDS,
            "idle_seconds": 30,
        }
        return config(fake_model(fast, plain), limits=limits)

    with site(engine_thread, speculative=1, baseline=0, settings=settings) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


async def cut_off(here: Site, client: RawClient, started: float, seconds: float) -> None:
    """408 or a plain close, about when the limit says."""
    response = await client.response(seconds + SLACK)
    assert response.status in (0, 408)
    await client.wait_closed(1.0)
    assert seconds * 0.8 < time.monotonic() - started < seconds + SLACK
    if response.status == 408:
        assert response.error
    await here.gateway.assert_idle()
    assert here.requests() == 0


async def test_slow_headers(here: Site) -> None:
    head = request_bytes(b"", headers=[("x-slow", "v" * 1000)])
    async with raw_client(here.gateway.port) as client:
        started = time.monotonic()
        dripping = asyncio.create_task(client.send_pieces((bytes([byte]) for byte in head), 0.05))
        await cut_off(here, client, started, HEADER_SECONDS)
        dripping.cancel()


async def test_headers_that_stop(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        started = time.monotonic()
        await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n")
        await cut_off(here, client, started, HEADER_SECONDS)


async def test_headers_that_stop_on_a_used_connection(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat()).encode()))
        assert (await client.response()).status == 200
        here.respond(answer())
        started = time.monotonic()
        await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n")
        await cut_off(here, client, started, HEADER_SECONDS)


async def test_a_connection_that_says_nothing(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        await client.wait_closed(HEADER_SECONDS + 6)
    await here.gateway.assert_idle()


@pytest.mark.parametrize("gap", [0.05, 60.0], ids=["dripping", "stopped"])
async def test_a_slow_body(here: Site, gap: float) -> None:
    sent = request_bytes(json.dumps(chat(pad="x" * 1000)).encode())
    before = here.gateway.metrics().total("spillway_requests_total", code="408")
    async with raw_client(here.gateway.port) as client:
        started = time.monotonic()
        await client.send(sent[:-1000])
        dripping = asyncio.create_task(client.send_pieces((bytes([byte]) for byte in sent[-1000:-1]), gap))
        response = await client.response(BODY_SECONDS + SLACK)
        dripping.cancel()
        assert time.monotonic() - started > BODY_SECONDS * 0.8
        assert response.status in (0, 408)
    if response.status == 408:
        assert response.error
        await here.gateway.counted("spillway_requests_total", before + 1, code="408")
    assert here.requests() == 0
    await here.gateway.assert_idle()


@pytest.mark.parametrize("sent_before", [40, -10], ids=["head", "body"])
async def test_a_gateway_that_stood_still_blames_no_client(here: Site, sent_before: int) -> None:
    """Its timers are due before it reads what came meanwhile."""
    sent = request_bytes(json.dumps(chat()).encode())
    async with raw_client(here.gateway.port) as client:
        await client.send(sent[:sent_before])
        await asyncio.sleep(0.2)
        here.gateway.process.send_signal(signal.SIGSTOP)
        await client.send(sent[sent_before:])
        await asyncio.sleep(BODY_SECONDS + 1.5)
        here.gateway.process.send_signal(signal.SIGCONT)
        assert (await client.response()).status == 200


async def test_each_of_many_slow_bodies_is_refused(here: Site) -> None:
    """Timers fire early by a rounding error now and then: nobody may be waited for without end for that."""
    sent = request_bytes(json.dumps(chat()).encode())
    for _ in range(2):
        clients = [await RawClient.open(here.gateway.port) for _ in range(100)]
        for client in clients:
            await client.send(sent[:-1])
        responses = await asyncio.gather(*(client.response(BODY_SECONDS + 2 * SLACK) for client in clients))
        assert {response.status for response in responses} <= {0, 408}
        for client in clients:
            client.close()
    await here.gateway.assert_idle()


async def test_hundreds_of_slow_senders_leave_room_for_others(here: Site) -> None:
    slow = [await RawClient.open(here.gateway.port) for _ in range(300)]
    for client in slow:
        await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nx-slow: ")
    started = time.monotonic()
    response = await exchange(here.gateway.port, request_bytes(json.dumps(chat()).encode()))
    assert response.status == 200
    assert time.monotonic() - started < SLACK
    await asyncio.gather(*(client.wait_closed(HEADER_SECONDS + 3) for client in slow))
    for client in slow:
        client.close()


async def test_a_reader_that_stops_holds_little_and_not_for_ever(here: Site) -> None:
    """The engine is paused, the gateway's memory stays flat, and the request is cut after client_stall_seconds."""
    piece = event(chat_delta("x" * 60_000))
    here.respond(stream([piece] * 3000))  # 180 MB
    before = resident(here)
    clients = [await RawClient.open(here.gateway.port) for _ in range(5)]
    for client in clients:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
    for client in clients:
        await client.read_until(b"data: ")
    await asyncio.sleep(0.7)
    sent = [request.sent for request in here.speculative[0].requests]
    assert len(sent) == 5
    assert max(sent) < 16 * 1024 * 1024, "buffers of three sockets and of the gateway"
    assert resident(here) - before < 5 * 4 * 1024 * 1024
    for request in here.speculative[0].requests:
        await request.wait_gone(STALL_SECONDS + SLACK + 1)
    await here.gateway.assert_idle()
    for client in clients:
        client.close()


async def test_a_slow_reader_that_reads_on_is_served(here: Site) -> None:
    piece = event(chat_delta("x" * 60_000))
    here.respond(stream([piece] * 100))
    async with raw_client(here.gateway.port) as client:
        await client.send(request_bytes(json.dumps(chat(stream=True)).encode()))
        for part in range(1, 6):
            await asyncio.sleep(0.3)
            await client.read_bytes(part * 15 * len(piece))
        response = await client.response()
    assert (response.complete, response.body) == (True, piece * 100)
    await here.gateway.assert_idle()


def resident(here: Site) -> int:
    """Bytes of memory the gateway holds."""
    pages = Path(f"/proc/{here.gateway.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096
