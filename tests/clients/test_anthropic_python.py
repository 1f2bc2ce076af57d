"""Anthropic's official Python client on `/v1/messages`: what the gateway says itself is raised as what it is."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import MessageParam

from tests.clients.prompts import by_prompt
from tests.support.behaviours import play
from tests.support.config import config, pool
from tests.support.site import Site, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import json_reply

KEY = "sk-of-the-suite"
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "fake",
    "content": [{"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 7, "output_tokens": 3},
}


@pytest.fixture(scope="module")
def module_site(engine_thread: EngineThread) -> Iterator[Site]:
    def settings(fast: Any, plain: Any) -> Any:
        away = {"name": "away", "pools": {"baseline": pool(["http://127.0.0.1:9"])}}
        return config(fake_model(fast, plain), away, auth={"keys": [KEY]}, limits={"body_bytes": 4096})

    with site(engine_thread, settings=settings, wait_for="/health") as running:
        yield running


@pytest.fixture
def here(module_site: Site) -> Site:
    module_site.respond(by_prompt)
    return module_site


@pytest.fixture
async def client(here: Site) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=here.gateway.base_url, api_key=KEY, max_retries=0, timeout=10) as made:
        yield made
    await here.gateway.assert_idle()


async def ask(client: AsyncAnthropic, prompt: str = "hi", model: str = "fake", key: str = KEY, **settings: Any) -> Any:
    messages: list[MessageParam] = [{"role": "user", "content": prompt}]
    return await client.with_options(api_key=key).messages.create(
        model=model, max_tokens=8, messages=messages, **settings
    )


async def test_an_answer(here: Site, client: AsyncAnthropic) -> None:
    here.respond(play(json_reply(200, MESSAGE)))
    message = await ask(client)
    assert message.content[0].text == "Hello."
    request = await here.speculative[0].next_request()
    assert request.target == "/v1/messages"
    assert request.header("anthropic-version")
    assert request.header("x-api-key") is None


@pytest.mark.parametrize(
    ("settings", "raised", "kind"),
    [
        ({"model": "nope"}, anthropic.NotFoundError, "not_found_error"),
        ({"key": "no"}, anthropic.AuthenticationError, "authentication_error"),
        ({"extra_headers": {"x-spillway-pool": "baseline"}}, anthropic.PermissionDeniedError, "permission_error"),
        ({"extra_headers": {"x-spillway-pool": "fast"}}, anthropic.BadRequestError, "invalid_request_error"),
        ({"prompt": "x" * 5000}, anthropic.RequestTooLargeError, "request_too_large"),
        ({"prompt": "break before"}, anthropic.InternalServerError, "api_error"),
        ({"model": "away"}, anthropic.ServiceUnavailableError, "api_error"),
        ({"prompt": "hang"}, anthropic.DeadlineExceededError, "timeout_error"),
        ({"extra_headers": {"x-large": "x" * 100_000}}, anthropic.APIStatusError, "invalid_request_error"),
    ],
)
async def test_errors(
    client: AsyncAnthropic, settings: dict[str, Any], raised: type[anthropic.APIStatusError], kind: str
) -> None:
    with pytest.raises(raised) as failure:
        await ask(client, **settings)
    body = failure.value.body
    assert isinstance(body, dict)
    assert set(body) == {"type", "error"}
    assert set(body["error"]) == {"type", "message"}
    assert (body["type"], body["error"]["type"]) == ("error", kind)
    assert body["error"]["message"] in str(failure.value)


async def test_counting_tokens(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="not_found_error"):
        await client.messages.count_tokens(model="nope", messages=[{"role": "user", "content": "hi"}])


async def test_a_stream_that_breaks(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.APIStatusError, match="broke the stream off"):
        async for _ in await ask(client, "break", stream=True):
            pass


async def test_openais_endpoints_keep_their_shape(here: Site) -> None:
    async with here.client(headers={"authorization": f"Bearer {KEY}"}) as http:
        for path in ("/v1/messagesx", "/v1/message", "/v1/chat/completions"):
            response = await http.post(path, json={"model": "nope"})
            assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
