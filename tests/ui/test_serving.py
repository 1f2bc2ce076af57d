"""How /ui is served: its headers, its stream, and on which port."""

import json
from typing import Any

import httpx
import pytest

from tests.support.config import config
from tests.support.site import Site, chat, fake_model, site
from tests.support.threads import EngineThread


@pytest.mark.parametrize("path", ["/ui", "/ui/app.js", "/ui/app.css", "/ui/models.js"])
def test_nothing_may_come_from_elsewhere(engine_thread: EngineThread, path: str) -> None:
    with site(engine_thread) as here:
        response = here.gateway.get(path)
        assert response.status_code == 200
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert here.gateway.get("/ui/../app.py").status_code == 404
        assert here.gateway.get("/ui/nothing.js").json()["error"]["code"] == "unknown_path"
        assert here.gateway.get("/ui/").headers["location"] == "../ui"


async def first_events(client: httpx.AsyncClient, count: int) -> list[tuple[str, Any]]:
    """The names and data of so many events."""
    found: list[tuple[str, Any]] = []
    name = ""
    async with client.stream("GET", "/ui/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
                if len(found) == count:
                    break
    return found


async def test_the_stream_has_the_status_and_the_decisions(engine_thread: EngineThread) -> None:
    with site(engine_thread) as here:
        async with here.client() as client:
            await client.post("/v1/chat/completions", json=chat(stream=True))
            await here.gateway.assert_idle()
            (first, history), *rest = await first_events(client, 3)
            assert (first, [name for name, _ in rest]) == ("history", ["now", "now"])
            assert isinstance(history, list)
            now = rest[-1][1]
            assert now["sample"]["models"]["fake"]["pools"]["baseline"] == {
                "inflight": 0,
                "limit": 128,
                "tokens": 0.0,
                "ttft": None,
            }
            assert now["status"] == here.gateway.status()
            [request] = now["requests"]
            assert (request["pool"], request["reason"], request["ended"]) == (
                "speculative", "under_threshold", "finished",
            )  # fmt: skip


def test_with_an_admin_port_it_is_there_alone(engine_thread: EngineThread) -> None:
    with site(
        engine_thread,
        settings=lambda fast, plain: config(fake_model(fast, plain), admin={"host": "127.0.0.1", "port": 0}),
    ) as here:
        for path in ("/ui", "/ui/events", "/ui/app.js", "/status", "/metrics"):
            refused = here.gateway.get(path)
            assert refused.status_code == 404
            assert refused.json()["error"]["message"].endswith("The gateway serves it at its admin address.")
        message = here.gateway.get("/nothing").json()["error"]["message"]
        assert message.endswith("OpenAI's endpoints are under /v1/; /health and /ready are ours.")
        admin = admin_url(here)
        for path in ("/ui", "/ui/app.js", "/status", "/metrics"):
            assert httpx.get(f"{admin}{path}", trust_env=False).status_code == 200


def admin_url(here: Site) -> str:
    """Where the log says that it is."""
    [line] = [line["message"] for line in here.gateway.log if "admin listening" in line.get("message", "")]
    return f"http://{line.rpartition(' ')[2]}"
