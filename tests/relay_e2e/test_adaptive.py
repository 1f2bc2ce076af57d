"""The loop of the policy `adaptive` closes: what streams were like decides where the next ones go."""

from typing import Any

import httpx

from tests.support.behaviours import Behaviour, stream
from tests.support.config import config
from tests.support.engine import FakeEngine
from tests.support.site import CHAT, chat, fake_model, placed, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_delta, event, usage

TOKENS = 20
# What was measured once: drafting pays.
CURVES = {"speculative": [{"inflight": 1, "rate": 400}], "baseline": [{"inflight": 1, "rate": 200}]}


def slow(gap: float) -> Behaviour:
    """A stream of so many tokens, `gap` seconds apart, whose usage comes with the last event."""
    words = [event(chat_delta("word")) for _ in range(TOKENS)]
    tail = event({**chat_delta(None), "choices": [], "usage": usage(50, TOKENS)})
    return stream([*words, tail, b"data: [DONE]\n\n"], gap=gap)


def settings(fast: list[FakeEngine], plain: list[FakeEngine], **policy: Any) -> Any:
    return config(fake_model(fast, plain, policy={"kind": "adaptive", **policy}))


async def ask(client: httpx.AsyncClient) -> tuple[str, str]:
    response = await client.post(CHAT, json=chat(stream=True))
    assert response.status_code == 200
    return placed(response)


async def test_streams_that_are_slower_than_they_were_send_the_next_ones_elsewhere(engine_thread: EngineThread) -> None:
    with site(engine_thread, settings=lambda *engines: settings(*engines, curves=CURVES, exploration=0)) as here:
        here.respond(slow(0.001))
        here.speculative[0].respond = slow(0.02)
        async with here.client() as client:
            assert await ask(client) == ("speculative", "adaptive")
            seen = [await ask(client) for _ in range(25)]
        assert ("baseline", "adaptive") in seen
        [model] = here.gateway.status()["models"]
        told = model["adaptive"]
        assert told["mode"] == "adaptive"
        assert told["crossover"] == 1
        assert told["decisions"]["adaptive"] == 26
        assert told["pools"]["baseline"]["expected"] > told["pools"]["speculative"]["expected"]
        assert told["pools"]["speculative"]["curve"][0]["inflight"] == 1
        metrics = here.gateway.metrics()
        assert metrics.total("spillway_adaptive_decisions_total", mode="adaptive") == 26
        assert metrics.total("spillway_adaptive_observations_total") > 4


async def test_without_evidence_the_threshold_decides_and_the_other_pool_is_looked_at(
    engine_thread: EngineThread,
) -> None:
    with site(engine_thread, settings=settings) as here:
        here.respond(slow(0.001))
        async with here.client() as client:
            seen = [await ask(client) for _ in range(3)]
        assert seen[0] == ("baseline", "exploration")
        assert seen[1:] == [("speculative", "under_threshold")] * 2
        [model] = here.gateway.status()["models"]
        assert model["adaptive"]["mode"] == "no_evidence"
        assert model["adaptive"]["crossover"] is None
