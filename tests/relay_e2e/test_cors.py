"""Web pages of other origins: what a browser asks and gets, and that nobody is let in by the engines' own headers."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.behaviours import answer, fail, play
from tests.support.config import config, pool
from tests.support.config import model as a_model
from tests.support.raw import raw_client, request_bytes
from tests.support.site import CHAT, Site, chat, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import reply

PAGE, OTHER, STRANGER = "https://chat.example.com", "http://localhost:5173", "https://evil.example.com"
KEY = "sk-of-the-page"
ENGINES_OWN = (("access-control-allow-origin", "*"), ("access-control-allow-credentials", "true"))
RELOADS = "spillway_config_reloads_total"
PATHS = [CHAT, "/v1/messages", "/v1/models", "/v1/files", "/generate"]


def allowing(*origins: str) -> Any:
    return lambda fast, plain: config(
        fake_model(fast, plain), auth={"keys": [KEY]}, cors={"allowed_origins": list(origins)}
    )


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    with site(engine_thread, settings=allowing(PAGE, OTHER)) as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(answer())
    return module_site


def cors(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith("access-control-")}


def preflight(origin: str, wanted: str | None = "authorization,content-type,x-stainless-os") -> dict[str, str]:
    """What a browser sends before a page's request, which has OpenAI's client's headers."""
    asked = {} if wanted is None else {"access-control-request-headers": wanted}
    return {"origin": origin, "access-control-request-method": "POST", **asked}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", [PAGE, OTHER])
async def test_a_page_that_may_call(here: Site, path: str, origin: str) -> None:
    """The preflight needs no key; it is the gateway's to answer and reaches no engine."""
    async with here.client() as client:
        response = await client.options(path, headers=preflight(origin))
    assert (response.status_code, response.content) == (204, b"")
    assert cors(response) == {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": "*",
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": "authorization,content-type,x-stainless-os",
        "access-control-max-age": "600",
    }
    assert response.headers["vary"] == "origin"
    assert here.requests() == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", [STRANGER, "null", "https://chat.example.com.evil.com", "HTTPS://CHAT.EXAMPLE.COM"])
async def test_a_page_that_may_not(here: Site, path: str, origin: str) -> None:
    here.respond(play(reply(200, b"{}", ENGINES_OWN)))
    async with here.client(headers={"authorization": f"Bearer {KEY}"}) as client:
        response = await client.options(path, headers=preflight(origin))
        assert (response.status_code, cors(response)) == (403, {})
        assert "cors.allowed_origins" in response.json()["error"]["message"]
        method = "GET" if path == "/v1/models" else "POST"
        served = await client.request(method, path, json=chat(), headers={"origin": origin})
    assert (served.status_code, cors(served)) == (200, {})
    assert served.headers["vary"] == "origin", "or a cache gives it to a page that may"


async def test_every_answer_says_so(here: Site) -> None:
    """Streamed or not, errors of the engine's, of the gateway's and of what is no request: a page can read them all."""
    shared = {"access-control-allow-origin": PAGE, "access-control-expose-headers": "*"}
    async with here.client(headers={"origin": PAGE, "authorization": f"Bearer {KEY}"}) as client:
        for stream in (False, True):
            response = await client.post(CHAT, json=chat(stream))
            assert (response.status_code, cors(response)) == (200, shared)
            assert response.headers["x-spillway-pool"] == "speculative"
        refused = [
            (401, await client.post(CHAT, json=chat(), headers={"authorization": "Bearer no"})),
            (404, await client.post(CHAT, json=chat(model="nope"))),
            (400, await client.post(CHAT, content=b"{")),
            (400, await client.post("/v1//chat/completions", json=chat())),
            (405, await client.get(CHAT)),
            (404, await client.get("/v1/models/nope")),
            (200, await client.get("/v1/models")),
            (431, await client.post(CHAT, json=chat(), headers={"x": "y" * 100_000})),
        ]
        here.respond(fail(500))
        refused.append((500, await client.post(CHAT, json=chat())))
    for status, response in refused:
        assert (response.status_code, cors(response)) == (status, shared), response.text


async def test_what_an_engine_says_is_not_heard_twice(here: Site) -> None:
    here.respond(play(reply(200, b"{}", (*ENGINES_OWN, ("vary", "accept")))))
    async with here.client(headers={"origin": PAGE, "authorization": f"Bearer {KEY}"}) as client:
        response = await client.post(CHAT, json=chat())
    assert response.headers.get_list("access-control-allow-origin") == [PAGE]
    assert response.headers.get("access-control-allow-credentials") is None
    assert response.headers.get_list("vary") == ["origin", "accept"]


async def test_refusals_below_http_say_so_too(here: Site) -> None:
    for line, status in (("HTTP/2.0", 505), ("HTTP/1.1", 400)):
        sent = f"POST {CHAT} {line}\r\nhost: x\r\norigin: {PAGE}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
        async with raw_client(here.gateway.port) as client:
            await client.send(sent.encode())
            response = await client.response()
        assert response.status == status
        assert response.header("access-control-allow-origin") == PAGE


@pytest.mark.parametrize("path", ["/status", "/metrics", "/ui", "/health", "/ready", "/nowhere", "/v1"])
async def test_pages_see_the_api_only(here: Site, path: str) -> None:
    async with here.client(headers={"origin": PAGE}) as client:
        assert cors(await client.get(path)) == {}
        assert (await client.options(path, headers=preflight(PAGE))).status_code in (404, 405)


async def test_other_options_are_no_preflight(here: Site) -> None:
    async with here.client(headers={"authorization": f"Bearer {KEY}"}) as client:
        for headers in ({}, {"origin": PAGE}, {"access-control-request-method": "POST"}):
            assert (await client.options(CHAT, headers=headers)).status_code == 405
        assert (await client.options(CHAT, headers=preflight(PAGE, None))).status_code == 204


async def test_a_connection_serves_the_page_that_asks(here: Site) -> None:
    """Preflight and request come on one connection, and others' after them."""
    asks = [("OPTIONS", PAGE, 204), ("POST", PAGE, 200), ("OPTIONS", STRANGER, 403), ("POST", STRANGER, 200)]
    async with raw_client(here.gateway.port) as client:
        for method, origin, status in asks:
            headers = [*preflight(origin).items(), ("authorization", f"Bearer {KEY}")]
            body = b"" if method == "OPTIONS" else b'{"model": "fake"}'
            await client.send(request_bytes(body, CHAT, method, headers))
            response = await client.response()
            assert response.status == status
            assert response.header("access-control-allow-origin") == (origin if origin == PAGE else None)
    await here.gateway.assert_idle()


async def test_all_pages_or_none_as_it_is_configured(engine_thread: EngineThread) -> None:
    """None at first; what is changed holds from the next request on."""
    with site(engine_thread, settings=lambda fast, plain: config(fake_model(fast, plain))) as here:
        here.respond(play(reply(200, b"{}", ENGINES_OWN)))
        async with here.client(headers={"origin": STRANGER}) as client:
            assert cors(await client.post(CHAT, json=chat())) == {}
            assert (await client.options(CHAT, headers=preflight(STRANGER))).status_code == 403
            served = a_model(pool([here.speculative[0].url]), pool([here.baseline[0].url]))
            here.gateway.write_config(config(served, cors={"allowed_origins": ["*", PAGE]}))
            await here.gateway.eventually(lambda: here.gateway.metrics().total(RELOADS, result="applied") == 1, 12.0)
            assert (await client.options(CHAT, headers=preflight(STRANGER))).status_code == 204
            response = await client.post(CHAT, json=chat())
            assert cors(response)["access-control-allow-origin"] == "*"
            assert "vary" not in response.headers
