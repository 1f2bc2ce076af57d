"""Real requests through the official OpenAI client, in a closed loop: a client sends its next when the last is done."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import openai

from gateway.demo.prompts import prompts

MAX_TOKENS = 48
REQUEST_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One request as its client saw it; times in seconds. `error` is empty when it succeeded."""

    pool: str
    reason: str = ""
    tokens: int = 0
    ttft: float = 0.0
    duration: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """What `concurrency` clients measured together over `seconds`."""

    concurrency: int
    samples: Sequence[Sample]
    seconds: float


def client(base_url: str) -> openai.AsyncOpenAI:
    """The official client, which here neither retries (a failure must show) nor goes through a proxy (all is local)."""
    return openai.AsyncOpenAI(
        base_url=f"{base_url}/v1",
        api_key="not-needed",
        max_retries=0,
        timeout=REQUEST_TIMEOUT,
        http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
    )


async def ask(openai_client: openai.AsyncOpenAI, model: str, prompt: str, pin: str | None = None) -> Sample:
    """Sends one streamed request, reads it to its end. `pin` names the pool to take it. Errors become samples."""
    start = time.monotonic()
    ttft = 0.0
    tokens = 0
    try:
        response = await openai_client.chat.completions.with_raw_response.create(
            model=model,
            messages=[{"role": "user", "content": prompt}],
            max_tokens=MAX_TOKENS,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
            extra_headers={"x-spillway-pool": pin} if pin else {},
        )
        async for chunk in response.parse():
            if not ttft and chunk.choices and chunk.choices[0].delta.content:
                ttft = time.monotonic() - start
            if chunk.usage is not None:
                tokens = chunk.usage.completion_tokens
    except openai.OpenAIError as error:
        return Sample(pool="", error=f"{type(error).__name__}: {error}")
    return Sample(
        pool=response.headers.get("x-spillway-pool", ""),
        reason=response.headers.get("x-spillway-reason", ""),
        tokens=tokens,
        ttft=ttft,
        duration=time.monotonic() - start,
        error="" if tokens else "the stream ended without a token or without its usage",
    )


async def run_level(
    openai_client: openai.AsyncOpenAI, model: str, concurrency: int, requests: int, pin: str | None = None
) -> Level:
    """Sends `requests` requests, `concurrency` at a time; `pin` names the pool that must take them."""
    waiting = iter(prompts(requests))
    start = time.monotonic()
    samples = await asyncio.gather(*(_one_client(openai_client, model, waiting, pin) for _ in range(concurrency)))
    return Level(concurrency, [sample for some in samples for sample in some], time.monotonic() - start)


async def _one_client(
    openai_client: openai.AsyncOpenAI, model: str, waiting: Iterator[str], pin: str | None
) -> list[Sample]:
    return [await ask(openai_client, model, prompt, pin) for prompt in waiting]
