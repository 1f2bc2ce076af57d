"""The official Python client against the gateway: real engines where they can answer, fake ones where they cannot."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from gateway.demo.engines import MODEL_NAME, LocalEngine
from tests.clients.conftest import KEY
from tests.support.site import Site

Messages = list[Any]
HELLO: Messages = [{"role": "user", "content": "Say hello."}]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


@pytest.fixture
async def client(here: Site) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{here.gateway.base_url}/v1", api_key=KEY, max_retries=0, timeout=60) as made:
        yield made
    await here.gateway.assert_idle(10.0)


def say(prompt: str) -> Messages:
    return [{"role": "user", "content": prompt}]


async def test_chat(client: AsyncOpenAI) -> None:
    raw = await client.chat.completions.with_raw_response.create(model=MODEL_NAME, messages=HELLO, max_tokens=8)
    reply = raw.parse()
    assert reply.choices[0].message.content
    assert reply.choices[0].finish_reason in ("length", "stop")
    assert reply.usage
    assert reply.usage.total_tokens > 0
    assert raw.headers["x-spillway-pool"] == "speculative"
    assert raw.headers["x-spillway-reason"] == "under_threshold"
    assert reply._request_id == raw.headers["x-request-id"]


async def test_streamed_chat(client: AsyncOpenAI) -> None:
    text, finish = "", None
    stream = await client.chat.completions.create(
        model=MODEL_NAME, messages=HELLO, max_tokens=16, temperature=0, stream=True
    )
    async for chunk in stream:
        assert chunk.usage is None
        text += chunk.choices[0].delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
    whole = await client.chat.completions.create(model=MODEL_NAME, messages=HELLO, max_tokens=16, temperature=0)
    assert text == whole.choices[0].message.content
    assert finish in ("length", "stop")


async def test_usage_comes_when_asked_for(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model=MODEL_NAME, messages=HELLO, max_tokens=4, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert chunks[-1].usage.completion_tokens == 4


async def test_both_pools_answer_alike(client: AsyncOpenAI) -> None:
    """Above the threshold some go to the other pool, and nobody can tell by the text."""

    async def ask() -> tuple[str, str | None]:
        raw = await client.chat.completions.with_raw_response.create(
            model=MODEL_NAME, messages=HELLO, max_tokens=24, temperature=0
        )
        return raw.headers["x-spillway-pool"], raw.parse().choices[0].message.content

    answers = await asyncio.gather(*(ask() for _ in range(5)))
    assert {pool for pool, _ in answers} == {"speculative", "baseline"}
    assert len({text for _, text in answers}) == 1


async def test_n_and_logprobs(client: AsyncOpenAI) -> None:
    reply = await client.chat.completions.create(
        model=MODEL_NAME, messages=HELLO, max_tokens=4, n=2, logprobs=True, top_logprobs=2
    )
    assert [choice.index for choice in reply.choices] == [0, 1]
    for choice in reply.choices:
        assert choice.logprobs
        assert choice.logprobs.content
        assert len(choice.logprobs.content[0].top_logprobs) == 2


async def test_structured_output(client: AsyncOpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    reply = await client.chat.completions.create(
        model=MODEL_NAME,
        messages=HELLO,
        max_tokens=32,
        response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema, "strict": True}},
    )
    assert isinstance(json.loads(reply.choices[0].message.content or "")["a"], bool)


async def test_completions(client: AsyncOpenAI) -> None:
    reply = await client.completions.create(model=MODEL_NAME, prompt="Once upon", max_tokens=6)
    assert reply.choices[0].text
    stream = await client.completions.create(model=MODEL_NAME, prompt="Once upon", max_tokens=6, stream=True)
    assert "".join([chunk.choices[0].text async for chunk in stream])


async def test_responses(client: AsyncOpenAI) -> None:
    reply = await client.responses.create(model=MODEL_NAME, input="Say hello.", max_output_tokens=8)
    assert reply.output_text
    stream = await client.responses.create(model=MODEL_NAME, input="Say hello.", max_output_tokens=8, stream=True)
    kinds = [event.type async for event in stream]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")


async def test_tools(client: AsyncOpenAI, here: Site) -> None:
    reply = await client.chat.completions.create(model="fake", messages=say("call a tool"), tools=TOOLS)
    [call] = reply.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"city": "Paris"}
    assert here.speculative[0].requests[0].json()["tools"] == TOOLS
    arguments = ""
    stream = await client.chat.completions.create(model="fake", messages=say("call a tool"), tools=TOOLS, stream=True)
    async for chunk in stream:
        for piece in chunk.choices[0].delta.tool_calls or []:
            arguments += (piece.function and piece.function.arguments) or ""
    assert json.loads(arguments) == {"city": "Paris"}
    # The small model calls none, but its engine must get the question whole.
    await client.chat.completions.create(model=MODEL_NAME, messages=HELLO, tools=TOOLS, max_tokens=4)


async def test_comments_and_mixed_line_ends_do_no_harm(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="fake", messages=say("with pings"), stream=True)
    assert [chunk.choices[0].delta.content async for chunk in stream] == ["a", "b"]


async def test_embeddings(client: AsyncOpenAI) -> None:
    reply = await client.embeddings.create(model="fake", input=["a", "b"], encoding_format="float")
    assert [one.embedding for one in reply.data] == [[0.5, 0.0], [0.5, 1.0]]
    with pytest.raises(openai.InternalServerError) as raised:
        await client.embeddings.create(model=MODEL_NAME, input="a")
    assert raised.value.status_code == 501
    assert "embeddings" in raised.value.message


async def test_models(client: AsyncOpenAI) -> None:
    names = [one.id async for one in client.models.list()]
    assert sorted(names) == sorted({MODEL_NAME, "fake"})
    assert (await client.models.retrieve("fake")).id == "fake"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("nope")


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("bad request", openai.BadRequestError),
        ("too many", openai.RateLimitError),
        ("crash", openai.InternalServerError),
        ("break before", openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["unstreamed", "streamed"])
async def test_an_engines_error_is_the_right_class(
    client: AsyncOpenAI, prompt: str, error: type[openai.APIStatusError], stream: bool
) -> None:
    with pytest.raises(error) as raised:
        await client.chat.completions.create(model="fake", messages=say(prompt), stream=stream)
    assert raised.value.request_id
    assert raised.value.body


async def test_the_gateways_errors_are_the_right_class(client: AsyncOpenAI, here: Site) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        await client.chat.completions.create(model="nope", messages=HELLO)
    assert missing.value.code == "model_not_found"
    assert MODEL_NAME in missing.value.message
    number: Any = 5
    with pytest.raises(openai.BadRequestError):
        await client.chat.completions.create(model=number, messages=HELLO)
    with pytest.raises(openai.AuthenticationError):
        await client.with_options(api_key="sk-wrong").chat.completions.create(model="fake", messages=HELLO)
    with pytest.raises(openai.APIStatusError) as large:
        await client.chat.completions.create(model="fake", messages=say("x" * 2_000_000))
    assert large.value.status_code == 413
    assert here.requests() == 0


async def test_a_broken_stream_raises_after_what_came(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="fake", messages=say("break"), stream=True)
    text = ""

    async def read() -> None:
        nonlocal text
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""

    with pytest.raises(openai.APIError) as raised:
        await read()
    assert text == "hello"
    assert raised.value.message


@pytest.mark.parametrize("stream", [False, True], ids=["unstreamed", "streamed"])
async def test_cancelling_before_the_first_token(client: AsyncOpenAI, here: Site, stream: bool) -> None:
    asking = asyncio.create_task(client.chat.completions.create(model="fake", messages=say("hang"), stream=stream))
    request = await here.speculative[0].next_request()
    asking.cancel()
    await request.wait_gone()
    await here.gateway.assert_idle()


async def test_cancelling_after_the_first_token(client: AsyncOpenAI, here: Site) -> None:
    stream = await client.chat.completions.create(model="fake", messages=say("go on"), stream=True)
    async for _ in stream:
        break
    await stream.close()
    await here.speculative[0].requests[0].wait_gone()
    await here.gateway.assert_idle()


async def test_a_client_that_times_out_leaves_nothing(client: AsyncOpenAI, here: Site) -> None:
    with pytest.raises(openai.APITimeoutError):
        await client.with_options(timeout=0.3).chat.completions.create(model="fake", messages=say("hang"))
    await here.speculative[0].requests[0].wait_gone()
    await here.gateway.assert_idle()


async def test_cancelling_frees_a_real_engine(
    client: AsyncOpenAI, here: Site, real_engines: tuple[LocalEngine, LocalEngine]
) -> None:
    stream = await client.chat.completions.create(
        model=MODEL_NAME, messages=say("Count to a thousand."), max_tokens=900, stream=True
    )
    async for _ in stream:
        break
    await stream.close()
    await here.gateway.assert_idle()

    def busy_slots() -> int:
        return sum(slot["is_processing"] for slot in httpx.get(f"{real_engines[0].url}/slots").json())

    await here.gateway.eventually(lambda: busy_slots() == 0, 3.0)


def test_the_blocking_client(here: Site) -> None:
    with OpenAI(base_url=f"{here.gateway.base_url}/v1", api_key=KEY, max_retries=0, timeout=60) as client:
        stream = client.chat.completions.create(model=MODEL_NAME, messages=HELLO, max_tokens=8, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        with pytest.raises(openai.APIError):
            list(client.chat.completions.create(model="fake", messages=say("break"), stream=True))


async def test_retrying_is_the_clients_own_affair(here: Site) -> None:
    """The client's default retries and the gateway's do not multiply for an engine's own 429."""
    async with AsyncOpenAI(base_url=f"{here.gateway.base_url}/v1", api_key=KEY, max_retries=2) as client:
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="fake", messages=say("too many"))
    assert here.requests() == 3
