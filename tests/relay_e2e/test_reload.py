"""A changed configuration file takes effect without dropping a stream; a bad one changes nothing but a metric."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.support import config as files
from tests.support.behaviours import answer
from tests.support.config import Settings, config
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.site import CHAT, Site, chat, fake_model, open_stream, placed, site
from tests.support.threads import EngineThread

RELOAD_SECONDS = 12.0


def with_threshold(fast: list[FakeEngine], plain: list[FakeEngine], threshold: int = 1, **sections: Any) -> Settings:
    return config(
        fake_model(fast, plain, policy={"threshold": threshold}), **{"limits": {"idle_seconds": 60}, **sections}
    )


@asynccontextmanager
async def serving(
    thread: EngineThread, speculative: int = 1, write: files.Write = files.write
) -> AsyncIterator[tuple[Site, httpx.AsyncClient, Gate]]:
    """A site at threshold 1, whose streams stay open until the gate is opened."""
    gate = Gate()
    with site(thread, speculative=speculative, settings=with_threshold, write=write) as here:
        here.respond(answer(hold=gate))
        async with here.client() as client:
            try:
                yield here, client, gate
            finally:
                gate.open()


def threshold(here: Site) -> int:
    return int(here.gateway.status()["models"][0]["policy"]["threshold"])


async def has_threshold(here: Site, wanted: int) -> None:
    await here.gateway.eventually(lambda: threshold(here) == wanted, RELOAD_SECONDS)


async def has_refused(here: Site, count: int) -> None:
    await here.gateway.eventually(lambda: reloads(here, "refused") == count, RELOAD_SECONDS)


async def logged(here: Site, message: str) -> None:
    await here.gateway.eventually(lambda: message in [line.get("message") for line in here.gateway.log], RELOAD_SECONDS)


def reloads(here: Site, result: str) -> float:
    return here.gateway.metrics().total("spillway_config_reloads_total", result=result)


async def test_a_threshold_changes_under_a_stream(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, gate):
        held = [await open_stream(client), await open_stream(client)]
        assert [placed(one)[0] for one in held] == ["speculative", "baseline"]
        here.gateway.write_config(with_threshold(here.speculative, here.baseline, threshold=3))
        await has_threshold(here, 3)
        assert here.gateway.pool_status("speculative")["inflight"] == 1, "the counts go on"
        held += [await open_stream(client) for _ in range(3)]
        assert [placed(one)[0] for one in held[2:]] == ["speculative", "speculative", "baseline"]
        gate.open()
        for one in held:
            assert (await one.aread()).endswith(b"data: [DONE]\n\n")
        assert reloads(here, "applied") >= 1
        assert reloads(here, "refused") == 0
        await here.gateway.assert_idle()


BAD_FILES = [
    "models: [",
    "",
    "modles: []",
    "models: [{name: fake, pools: {}}]",
    "models: [{name: fake, policy: {kind: threshold, threshold: 0}, pools: {baseline: {discovery: {static: ['http://a']}}}}]",
]


async def test_a_bad_file_keeps_the_old_one_serving(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, gate):
        held = await open_stream(client)
        for number, text in enumerate(BAD_FILES, start=1):
            here.gateway.write_config(text)
            await has_refused(here, number)
            assert threshold(here) == 1
            over = await open_stream(client)
            assert placed(over) == ("baseline", "over_threshold")
            await over.aclose()
            assert here.gateway.get("/ready").status_code == 200
        gate.open()
        assert (await held.aread()).endswith(b"data: [DONE]\n\n")
        # The one that serves, put back, is as good as it was, and so it is when asked for.
        here.gateway.write_config(with_threshold(here.speculative, here.baseline))
        await logged(here, "configuration is again the one that serves")
        here.gateway.process.send_signal(signal.SIGHUP)
        await logged(here, "configuration unchanged")
        # And a good one after them is taken.
        here.gateway.write_config(with_threshold(here.speculative, here.baseline, threshold=2))
        await has_threshold(here, 2)
        await here.gateway.assert_idle()


async def test_a_replica_taken_out_finishes_what_it_has(engine_thread: EngineThread) -> None:
    async with serving(engine_thread, speculative=2) as (here, client, gate):
        held = [await open_stream(client) for _ in range(2)]
        assert {one.headers["x-spillway-replica"] for one in held} == {engine.label for engine in here.speculative}
        here.gateway.write_config(with_threshold(here.speculative[:1], here.baseline, threshold=5))
        await has_threshold(here, 5)
        more = [await open_stream(client) for _ in range(3)]
        assert {one.headers["x-spillway-replica"] for one in more} == {here.speculative[0].label}
        gate.open()
        for one in (*held, *more):
            assert (await one.aread()).endswith(b"data: [DONE]\n\n")
        await here.gateway.assert_idle()
        urls = [one["url"] for one in here.gateway.pool_status("speculative")["replicas"]]
        assert here.speculative[0].url in urls


async def test_a_replica_put_in_gets_requests(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as [newcomer]:
        async with serving(engine_thread) as (here, client, gate):
            gate.open()
            here.gateway.write_config(with_threshold([*here.speculative, newcomer], here.baseline, threshold=7))
            await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["ready"] == 2, RELOAD_SECONDS)
            assert here.gateway.pool_status("speculative")["limit"] == 14
            gates = Gate()
            here.respond(answer(hold=gates))
            newcomer.respond = answer(hold=gates)
            held = [await open_stream(client) for _ in range(4)]
            assert len(newcomer.requests) == 2
            gates.open()
            for one in held:
                await one.aread()


async def test_models_come_and_go(engine_thread: EngineThread) -> None:
    async with serving(engine_thread) as (here, client, gate):
        held = await open_stream(client)
        renamed = config(fake_model(here.speculative, here.baseline, name="other"), limits={"idle_seconds": 60})
        here.gateway.write_config(renamed)
        await here.gateway.eventually(lambda: here.gateway.status()["models"][0]["name"] == "other", RELOAD_SECONDS)
        gone = await client.post(CHAT, json=chat())
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "model_not_found")
        gate.open()
        await here.gateway.eventually(lambda: here.gateway.pool_status("speculative")["ready"] == 1)
        assert (await client.post(CHAT, json=chat(model="other"))).status_code == 200
        assert (await held.aread()).endswith(b"data: [DONE]\n\n"), "a stream outlives its model"
        await here.gateway.assert_idle()


async def first_status(client: httpx.AsyncClient, name: str) -> int:
    """Of the first answer by a gateway that knows the model."""
    for _ in range(2000):
        try:
            response = await client.post(CHAT, json=chat(model=name))
        except httpx.ConnectError:
            await asyncio.sleep(0.01)
            continue
        if response.status_code != 404:
            return response.status_code
        await asyncio.sleep(0.01)
    raise AssertionError(f"no gateway that knows {name}")


async def test_a_new_model_serves_from_its_first_request(engine_thread: EngineThread) -> None:
    """Which waits for the first probe of its replica, and so does one to a gateway that has just started."""
    with site(engine_thread, settings=with_threshold, wait_for=None) as here:
        async with here.client() as client:
            assert await first_status(client, "fake") == 200
            settings = with_threshold(here.speculative, here.baseline)
            settings["models"].append(files.model(files.pool([here.baseline[0].url]), name="new"))
            here.gateway.write_config(settings)
            assert await first_status(client, "new") == 200


async def test_no_request_fails_while_files_change(engine_thread: EngineThread) -> None:
    async with serving(engine_thread, speculative=2) as (here, client, gate):
        gate.open()
        here.respond(answer(gap=0.01))
        stop = False
        statuses: list[int] = []

        async def call() -> None:
            while not stop:
                statuses.append((await client.post(CHAT, json=chat(stream=True))).status_code)

        callers = [asyncio.create_task(call()) for _ in range(8)]
        for wanted in (2, 3, 4):
            engines = here.speculative[: 1 + wanted % 2]
            here.gateway.write_config(with_threshold(engines, here.baseline, threshold=wanted))
            await has_threshold(here, wanted)
        stop = True
        await asyncio.gather(*callers)
        assert set(statuses) == {200}
        await here.gateway.assert_idle()


async def test_a_mounted_config_map_is_followed(engine_thread: EngineThread) -> None:
    """Kubernetes swaps a symlink to the directory that holds the file, which itself never changes."""
    async with serving(engine_thread, write=files.write_mounted) as (here, client, gate):
        held = await open_stream(client)
        for wanted in (2, 3):
            here.gateway.write_config(with_threshold(here.speculative, here.baseline, threshold=wanted))
            await has_threshold(here, wanted)
        gate.open()
        assert (await held.aread()).endswith(b"data: [DONE]\n\n")
