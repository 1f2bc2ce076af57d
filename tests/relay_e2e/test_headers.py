"""What crosses the gateway beside bodies: headers both ways, keys, identities, pins, and the log line."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.behaviours import answer, fail, play, stream
from tests.support.config import config, model, pool
from tests.support.exchange import Request
from tests.support.raw import exchange, request_bytes
from tests.support.site import CHAT, Site, chat, placed, site
from tests.support.threads import EngineThread
from tests.support.wire import chat_events, reply

KEY = "sk-client-key"
ENGINE_KEY = "sk-engine-key"
SECRET = "a prompt that belongs in no log"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    def settings(fast: Any, plain: Any) -> Any:
        return config(
            model(
                pool([fast[0].url], api_key=ENGINE_KEY, engine_model="served-as"),
                pool([plain[0].url]),
                policy={"allow_pinning": True},
                aliases=["counterfeit"],
            ),
            model((), pool([plain[0].url]), name="plain"),
            auth={"keys": [KEY, "sk-another"]},
        )

    with site(engine_thread, settings=settings) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


async def ask(here: Site, headers: dict[str, str] | None = None, **fields: Any) -> tuple[Any, Request | None]:
    """A request with the client's key; the response, and what the engine received."""
    async with here.client() as client:
        response = await client.post(
            CHAT, json=chat(**fields), headers={"authorization": f"Bearer {KEY}", **(headers or {})}
        )
    received = [request for engine in here.engines for request in engine.requests]
    return response, received[-1] if received else None


async def test_the_clients_key_never_reaches_an_engine(here: Site) -> None:
    for headers in ({}, {"x-spillway-pool": "baseline"}):
        here.respond(answer())
        response, request = await ask(here, headers)
        assert response.status_code == 200
        assert request is not None
        assert KEY not in repr(request.headers)
        assert request.header("authorization") == (None if headers else f"Bearer {ENGINE_KEY}")


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", "Basic abc", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}"]
)
async def test_no_key_no_answer(here: Site, authorization: str) -> None:
    response, request = await ask(here, {"authorization": authorization})
    assert response.status_code == 401
    assert response.json()["error"]["type"] == "authentication_error"
    assert request is None
    name = "spillway_requests_total"
    await here.gateway.eventually(lambda: here.gateway.metrics().total(name, code="401") >= 1)


async def test_a_key_may_come_as_anthropic_clients_send_it(here: Site) -> None:
    async with here.client() as client:
        response = await client.post("/v1/messages", json=chat(), headers={"x-api-key": KEY})
    assert response.status_code == 200
    assert KEY not in repr(here.speculative[0].requests[0].headers)


async def test_hop_by_hop_headers_stay_on_their_hop(here: Site) -> None:
    headers = {
        "connection": "keep-alive, x-nominated",
        "x-nominated": "1",
        "keep-alive": "timeout=5",
        "te": "trailers",
        "proxy-authorization": "Basic abc",
        "proxy-connection": "keep-alive",
        "upgrade": "h2c",
        "x-kept": "yes",
        "cookie": "a=b",
        "x-spillway-pool": "speculative",
        "X-Spillway-Whatever": "1",
    }
    _, request = await ask(here, headers)
    assert request is not None
    for name in ("x-nominated", "keep-alive", "te", "proxy-authorization", "proxy-connection", "upgrade"):
        assert request.header(name) is None, name
    assert request.header("x-kept") == "yes"
    assert request.header("host") == here.speculative[0].url.removeprefix("http://")
    assert not [name for name, _ in request.headers if name.lower().startswith("x-spillway-")]


async def test_every_connection_header_nominates(here: Site) -> None:
    sent = request_bytes(
        b'{"model": "fake"}',
        headers=[
            ("content-type", "application/json"),
            ("authorization", f"Bearer {KEY}"),
            ("connection", "x-one"),
            ("x-one", "1"),
            ("connection", "X-Two , keep-alive"),
            ("x-two", "2"),
        ],
    )
    assert (await exchange(here.gateway.port, sent)).status == 200
    request = await here.speculative[0].next_request()
    assert (request.header("x-one"), request.header("x-two")) == (None, None)


async def test_an_engines_hop_by_hop_headers_stay_on_theirs(here: Site) -> None:
    theirs = (
        ("content-type", "application/json"),
        ("connection", "keep-alive, x-nominated"),
        ("x-nominated", "1"),
        ("keep-alive", "timeout=5"),
        ("x-kept", "yes"),
        ("x-twice", "1"),
        ("x-twice", "2"),
        ("x-spillway-pool", "forged"),
        ("X-Spillway-Whatever", "forged"),
        ("Access-Control-Allow-Origin", "*"),
    )
    here.respond(play(reply(200, b"{}", theirs)))
    response, _ = await ask(here)
    assert response.headers.get("x-nominated") is None
    assert response.headers.get("keep-alive") is None
    assert response.headers["x-kept"] == "yes"
    assert response.headers.get_list("x-twice") == ["1", "2"]
    assert response.headers.get_list("x-spillway-pool") == ["speculative"]
    assert [name for name in response.headers if name.startswith(("x-spillway-", "access-control-"))] == [
        "x-spillway-pool",
        "x-spillway-replica",
        "x-spillway-reason",
    ]
    assert response.headers.get_list("content-length") == ["2"]


async def test_a_length_after_a_change_is_right(here: Site) -> None:
    """Usage asked for and the model renamed: the engine must not read by the old Content-Length."""
    response, request = await ask(here, stream=True, model="counterfeit")
    assert response.status_code == 200
    assert request is not None
    assert request.header("content-length") == str(len(request.body))
    assert request.json()["model"] == "served-as"
    assert request.json()["stream_options"] == {"include_usage": True}


async def test_identities_are_kept(here: Site) -> None:
    response, request = await ask(here, {"x-request-id": "my-id-1", "traceparent": TRACE})
    assert request is not None
    assert response.headers["x-request-id"] == "my-id-1"
    assert request.header("x-request-id") == "my-id-1"
    traceparent = request.header("traceparent")
    assert traceparent is not None
    assert traceparent.split("-")[1] == TRACE.split("-")[1], "the same trace"


async def test_identities_are_made(here: Site) -> None:
    ids = set()
    for _ in range(3):
        response, request = await ask(here)
        assert request is not None
        assert response.headers["x-request-id"] == request.header("x-request-id")
        ids.add(response.headers["x-request-id"])
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", request.header("traceparent") or "")
    assert len(ids) == 3


async def test_a_hostile_identity_is_replaced_or_kept_harmless(here: Site) -> None:
    response, request = await ask(here, {"x-request-id": "x" * 5000})
    assert response.status_code == 200
    assert request is not None
    assert len(response.headers["x-request-id"]) <= 512
    response, request = await ask(here, {"traceparent": "not a trace"})
    assert request is not None
    assert request.header("traceparent") != "not a trace"


async def test_pins(here: Site) -> None:
    for role in ("speculative", "baseline"):
        response, _ = await ask(here, {"x-spillway-pool": role})
        assert placed(response) == (role, "pinned")
    response, _ = await ask(here, {"x-spillway-pool": "fastest"})
    assert response.status_code == 400
    assert "speculative" in response.json()["error"]["message"]
    response, _ = await ask(here, {"x-spillway-pool": "speculative"}, model="plain")
    assert response.status_code in (400, 403), "the model has neither this pool nor pinning"
    await here.gateway.assert_idle()


async def test_models_are_merged(here: Site) -> None:
    async with here.client(headers={"authorization": f"Bearer {KEY}"}) as client:
        listing = (await client.get("/v1/models")).json()
        assert listing["object"] == "list"
        ids = [one["id"] for one in listing["data"]]
        assert sorted(ids) == sorted(set(ids))
        assert {"fake", "plain"} <= set(ids)
        assert {one["object"] for one in listing["data"]} == {"model"}
        one = await client.get("/v1/models/fake")
        assert (one.status_code, one.json()["id"]) == (200, "fake")
        missing = await client.get("/v1/models/nope")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")


async def test_health_needs_no_key(here: Site) -> None:
    for path in ("/health", "/ready", "/metrics"):
        assert (await exchange(here.gateway.port, request_bytes(b"", path, "GET", headers=[]))).status == 200


async def test_each_request_has_one_line_in_the_log(here: Site) -> None:
    here.respond(stream([*chat_events(["a", "b"], usage_tail=True)], gap=0.01))
    response, _ = await ask(
        here, {"x-request-id": "for-the-log"}, stream=True, messages=[{"role": "user", "content": SECRET}]
    )
    assert response.status_code == 200
    line = await here.gateway.log_line("for-the-log")
    values = {str(value) for value in line.values()}
    assert {"fake", "speculative", here.speculative[0].label, "under_threshold", "200", "7", "3"} <= values, line
    assert SECRET not in "".join(here.gateway.stdout + here.gateway.stderr)
    assert KEY not in "".join(here.gateway.stdout + here.gateway.stderr)
    assert len([one for one in here.gateway.log if "for-the-log" in one.values()]) == 1


async def test_tokens_are_counted_once(here: Site) -> None:
    def tokens() -> list[float]:
        metrics = here.gateway.metrics()
        return [metrics.total("spillway_tokens_total", kind=kind) for kind in ("prompt", "completion")]

    bodies: list[dict[str, Any]] = [{}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}]
    prompt, completion = tokens()
    for body in bodies:
        response, _ = await ask(here, **body)
        assert response.status_code == 200
        prompt, completion = prompt + 7, completion + 3
        await here.gateway.counted("spillway_tokens_total", prompt, kind="prompt")
        await here.gateway.counted("spillway_tokens_total", completion, kind="completion")
    here.respond(fail(500))
    await ask(here)
    await here.gateway.assert_idle()
    assert tokens() == [prompt, completion]


async def test_a_form_names_the_model_as_the_engine_does(here: Site) -> None:
    """An upload by an alias; the file, which says what a field would, is not touched."""
    file = b'\x00\xff\r\n--cut\r\nname="model"\r\n\r\ncounterfeit\r\n--'
    async with here.client() as client:
        response = await client.post(
            "/v1/audio/transcriptions",
            data={"model": "counterfeit", "language": "en"},
            files={"file": ("a.wav", file)},
            headers={"authorization": f"Bearer {KEY}", "content-type": "multipart/form-data; boundary=edge"},
        )
    assert response.status_code == 200
    [request] = here.speculative[0].requests
    sent = response.request.read()
    assert sent.count(b"counterfeit") == 2
    assert request.body == sent.replace(
        b'name="model"\r\n\r\ncounterfeit\r\n--edge', b'name="model"\r\n\r\nserved-as\r\n--edge'
    )
    assert request.header("content-length") == str(len(request.body))
