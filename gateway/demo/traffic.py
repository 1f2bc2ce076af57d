"""Real requests through the official OpenAI client, in a closed loop: a client sends its next when the last is done."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import openai

from gateway.demo.prompts import prompts

MAX_TOKENS = 40
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


class Traffic:
    """Streamed requests for `model` through `openai_client`, one kind: `pin` names the pool that must take them."""

    def __init__(
        self, openai_client: openai.AsyncOpenAI, model: str, pin: str | None = None, max_tokens: int = MAX_TOKENS
    ) -> None:
        self._client = openai_client
        self._model = model
        self._headers = {"x-spillway-pool": pin} if pin else {}
        self._max_tokens = max_tokens

    async def level(self, concurrency: int, requests: int) -> Level:
        """Sends `requests` requests, `concurrency` at a time."""
        waiting = iter(prompts(requests))
        start = time.monotonic()
        samples = await asyncio.gather(*(self._one_client(waiting) for _ in range(concurrency)))
        return Level(concurrency, [sample for some in samples for sample in some], time.monotonic() - start)

    async def _one_client(self, waiting: Iterator[str]) -> list[Sample]:
        return [await self._ask(prompt) for prompt in waiting]

    async def _ask(self, prompt: str) -> Sample:
        start = time.monotonic()
        ttft = 0.0
        tokens = 0
        try:
            response = await self._client.chat.completions.with_raw_response.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                max_tokens=self._max_tokens,
                temperature=0,
                stream=True,
                stream_options={"include_usage": True},
                extra_headers=self._headers,
            )
            async for chunk in response.parse():
                if not ttft and chunk.choices and chunk.choices[0].delta.content:
                    ttft = time.monotonic() - start
                if chunk.usage is not None:
                    tokens = chunk.usage.completion_tokens
        except Exception as error:  # a stream that breaks raises what the client's HTTP library raises
            return Sample(pool="", error=f"{type(error).__name__}: {error}")
        return Sample(
            pool=response.headers.get("x-spillway-pool", ""),
            reason=response.headers.get("x-spillway-reason", ""),
            tokens=tokens,
            ttft=ttft,
            duration=time.monotonic() - start,
            error="" if tokens else "the stream ended without a token or without its usage",
        )
