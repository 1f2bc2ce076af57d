"""Probes on real sockets."""

import asyncio
import socket
import time
from itertools import pairwise

import pytest

from tests.pools.engine import Engine, Mode, an_engine
from tests.pools.probing import IMPATIENT, probing


async def test_a_first_probe_makes_it_ready() -> None:
    async with an_engine() as engine, probing(engine, interval=60) as site:
        assert not site.pool.ready
        await site.becomes(ready=True)
        assert site.changes == [True]


async def test_an_engine_that_wants_a_key_is_well() -> None:
    async with an_engine() as engine, probing(engine) as site:
        engine.mode = "wants a key"
        await site.becomes(ready=True)


@pytest.mark.parametrize(
    ("kind", "path", "probed"),
    [("sglang", None, "/health"), ("vllm", None, "/health"), ("openai", None, "/v1/models"), ("vllm", "/up", "/up")],
)
async def test_the_path_is_the_engines_own(kind: str, path: str | None, probed: str) -> None:
    async with an_engine() as engine, probing(engine, kind, path=path):
        await engine.probed(3)
        assert {where for _, where in engine.probes} == {probed}


@pytest.mark.parametrize("mode", ["unwell", "no such path", "reset", "garbage"])
async def test_two_bad_answers_take_it_out_and_a_good_one_brings_it_back(mode: Mode) -> None:
    async with an_engine() as engine, probing(engine) as site:
        await site.becomes(ready=True)
        bad = len(engine.probes)
        engine.mode = mode
        await site.becomes(ready=False)
        assert len(engine.probes) - bad in (2, 3), "one may have been under way"
        engine.mode = "ok"
        await site.becomes(ready=True)
        assert site.changes == [True, False, True]


async def test_refused_and_back() -> None:
    async with an_engine() as engine, probing(engine) as site:
        await site.becomes(ready=True)
        engine.refuse()
        await site.becomes(ready=False)
        await engine.start()
        await site.becomes(ready=True)


async def test_an_engine_that_streams_is_not_dead() -> None:
    """Probes hang for longer than hang_seconds while others are served: it stays, and nobody's stream is broken."""
    async with an_engine() as engine, probing(engine, **IMPATIENT) as site:
        await site.becomes(ready=True)
        stream = await site.stream()
        engine.mode = "hang"
        await engine.probed(6)
        await asyncio.sleep(0.1)
        assert site.changes == [True]
        assert stream.error is None


async def test_bytes_between_probes_count_as_well() -> None:
    """With probes far apart, an engine may well be silent whenever one happens to be waiting."""
    async with an_engine() as engine, probing(engine, interval=0.2, timeout=0.05, hang_seconds=0.3) as site:
        await site.becomes(ready=True)
        await site.stream()
        engine.mode = "hang"
        for _ in range(4):
            await engine.probed()
            engine.silent = True
            await asyncio.sleep(0.07)
            engine.silent = False
        assert site.changes == [True]


async def test_a_silent_engine_is_ejected_and_its_streams_broken() -> None:
    async with an_engine() as engine, probing(engine, **IMPATIENT) as site:
        await site.becomes(ready=True)
        stream = await site.stream()
        engine.silent, engine.mode = True, "hang"
        began = time.monotonic()
        await site.becomes(ready=False)
        assert time.monotonic() - began > 0.25, "not before hang_seconds"
        await asyncio.wait_for(stream.over.wait(), 1)
        assert stream.error is not None
        assert not stream.ended
        engine.mode = "ok"
        await site.becomes(ready=True)


async def test_streams_opened_on_a_hung_engine_are_broken_too() -> None:
    """Each further probe that hangs shows that they wait in vain."""
    async with an_engine() as engine, probing(engine, **IMPATIENT) as site:
        await site.becomes(ready=True)
        engine.mode = "hang"
        await site.becomes(ready=False)
        late = await site.stream()
        engine.silent = True
        await asyncio.wait_for(late.over.wait(), 3)
        assert late.error is not None


async def test_ejected_by_requests_and_brought_back_by_a_probe() -> None:
    async with an_engine() as engine, probing(engine, eject_seconds=0.2) as site:
        await site.becomes(ready=True)
        ejected = time.monotonic()
        for _ in range(3):
            site.replica.health.request_failed(ejected)
        site.pool.refresh()
        assert not site.pool.ready
        await site.becomes(ready=True)
        assert time.monotonic() - ejected >= 0.2


async def test_ejected_while_a_probe_is_under_way() -> None:
    """The pool learns of the recovery even if the replica was ready when the probe began and is so at its end."""
    async with an_engine() as engine, probing(engine, eject_seconds=0.05, timeout=2) as site:
        await site.becomes(ready=True)
        engine.delay = 0.2
        await engine.probed()
        for _ in range(3):
            site.replica.health.request_failed(time.monotonic())
        site.pool.refresh()
        assert not site.pool.ready
        await site.becomes(ready=True, seconds=1)


async def test_hurry() -> None:
    """A failed request has the replica probed at once, not when its turn comes."""
    async with an_engine() as engine, probing(engine, interval=60) as site:
        await engine.probed()
        for _ in range(3):
            site.prober.hurry()
            await engine.probed(seconds=2)


async def test_hurried_during_a_probe() -> None:
    """That probe may have been answered before the failure, so another follows."""
    async with an_engine() as engine, probing(engine, interval=60) as site:
        engine.delay = 0.05
        await engine.probed()
        site.prober.hurry()
        await engine.probed(seconds=2)


async def test_however_hurried_it_is_not_flooded() -> None:
    async with an_engine() as engine, probing(engine, interval=60) as site:
        await engine.probed()
        for _ in range(100):
            site.prober.hurry()
            await asyncio.sleep(0.003)
        assert len(engine.probes) <= 6


async def test_the_pauses_vary() -> None:
    """By a fifth about the interval, so that gateways do not probe in step."""
    async with an_engine() as engine, probing(engine, interval=0.15):
        await engine.probed(9)
        times = [when for when, _ in engine.probes]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert min(pauses) >= 0.15 * 0.8 - 0.005
    assert sorted(pauses)[len(pauses) // 2] <= 0.15 * 1.2 + 0.1
    assert max(pauses) - min(pauses) > 0.002


async def test_what_the_engine_says_of_its_models_is_kept() -> None:
    async with an_engine() as engine, probing(engine) as site:
        await site.becomes(ready=True)
        await engine.probed()
        assert site.replica.engine_models == ({"id": "m", "max_model_len": 4096},)


@pytest.mark.parametrize("models", [b"", b"[]", b"{}", b'{"data": 3}', b"\xff\xfe", b"[" * 100_000])
async def test_nonsense_about_models_does_no_harm(models: bytes) -> None:
    async with an_engine() as engine, probing(engine) as site:
        engine.models = models
        await site.becomes(ready=True)
        await engine.probed(2)
        assert site.replica.engine_models == ()
        assert site.changes == [True]


async def test_an_engine_that_accepts_nobody() -> None:
    """Its process stands still: connections wait in line until that is full, and then for nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        engine = Engine()
        engine.port = full.getsockname()[1]
        async with probing(engine, **IMPATIENT) as site:
            site.replica.health.probe_succeeded(0.0)
            site.pool.refresh()
            await site.becomes(ready=False)
