"""How each kind of engine is asked for a greedy answer, and what it tells of it.

SGLang: `/generate` returns `output_ids`, and `meta_info.spec_accept_length` when it speculates. llama.cpp:
`/completion` with `return_tokens`, and `timings` with the drafts. Any other: OpenAI's `/v1/completions`, whose text
alone is compared.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from spillway_engine.unreached import why


class EngineError(Exception):
    """An engine can't be asked, or answers in a way that can't be understood; the message has its address."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A greedy answer. Its units are token ids, or characters where the engine does not tell tokens."""

    units: tuple[int | str, ...]
    text: str
    tokens: int
    seconds: float
    accept_length: float | None
    """Tokens for each pass of the target model; None if the engine does not say."""


class Engine(Protocol):
    """An engine that can be asked."""

    kind: str
    url: str
    by_token: bool

    async def ask(self, prompt: str, max_tokens: int) -> Answer:
        """The greedy answer. Raises EngineError."""
        ...

    async def margins(self, prompt: str, max_tokens: int) -> Sequence[float]:
        """By how much the likeliest token led at each place, in nats; empty if the engine does not say."""
        ...


class _Asker:
    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client = client
        self.url = url

    async def _post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        started = time.perf_counter()
        try:
            answer = await self._client.post(f"{self.url}{path}", json=body)
        except httpx.TransportError as error:
            raise EngineError(f"{self.url}{path}: {error!r}") from None
        seconds = time.perf_counter() - started
        if answer.status_code != httpx.codes.OK:
            raise EngineError(f"{self.url}{path}: status {answer.status_code}: {answer.text[:300]}")
        content = answer.json()
        if not isinstance(content, dict):
            raise EngineError(f"{self.url}{path}: answers with something else than an object")
        return content, seconds


class SGLang(_Asker):
    """SGLang by its own endpoint."""

    kind = "sglang"
    by_token = True

    async def ask(self, prompt: str, max_tokens: int) -> Answer:
        """See `Engine.ask`."""
        content, seconds = await self._generate(prompt, max_tokens)
        units = tuple(content["output_ids"])
        accepted = content["meta_info"].get("spec_accept_length")
        return Answer(units, content["text"], len(units), seconds, float(accepted) if accepted else None)

    async def margins(self, prompt: str, max_tokens: int) -> Sequence[float]:
        """See `Engine.margins`."""
        content, _ = await self._generate(prompt, max_tokens, return_logprob=True, top_logprobs_num=2)
        return [_lead([it[0] for it in top]) for top in content["meta_info"].get("output_top_logprobs") or []]

    async def _generate(self, prompt: str, max_tokens: int, **more: Any) -> tuple[dict[str, Any], float]:
        sampling = {"temperature": 0, "max_new_tokens": max_tokens}
        return await self._post("/generate", {"text": prompt, "sampling_params": sampling, **more})


class LlamaCpp(_Asker):
    """llama.cpp's server by its own endpoint."""

    kind = "llama.cpp"
    by_token = True

    async def ask(self, prompt: str, max_tokens: int) -> Answer:
        """See `Engine.ask`."""
        content, seconds = await self._complete(prompt, max_tokens, return_tokens=True)
        units, timings = tuple(content["tokens"]), content.get("timings", {})
        accepted, length = int(timings.get("draft_n_accepted", 0)), None
        if "draft_n" in timings and len(units) > accepted:
            length = len(units) / (len(units) - accepted)
        return Answer(units, content["content"], len(units), seconds, length)

    async def margins(self, prompt: str, max_tokens: int) -> Sequence[float]:
        """See `Engine.margins`."""
        content, _ = await self._complete(prompt, max_tokens, n_probs=2)
        places = content.get("completion_probabilities", [])
        return [_lead([it["logprob"] for it in place.get("top_logprobs", [])]) for place in places]

    async def _complete(self, prompt: str, max_tokens: int, **more: Any) -> tuple[dict[str, Any], float]:
        # A cached prompt is computed in other batches than a fresh one, which rounds otherwise.
        body = {"prompt": prompt, "n_predict": max_tokens, "temperature": 0, "cache_prompt": False}
        return await self._post("/completion", {**body, **more})


class OpenAI(_Asker):
    """Any engine with OpenAI's completions: text only."""

    kind = "openai"
    by_token = False

    def __init__(self, client: httpx.AsyncClient, url: str, model: str) -> None:
        super().__init__(client, url)
        self._model = model

    async def ask(self, prompt: str, max_tokens: int) -> Answer:
        """See `Engine.ask`."""
        body = {"model": self._model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
        content, seconds = await self._post("/v1/completions", body)
        text = content["choices"][0]["text"]
        tokens = (content.get("usage") or {}).get("completion_tokens", 0)
        return Answer(tuple(text), text, tokens, seconds, None)

    async def margins(self, prompt: str, max_tokens: int) -> Sequence[float]:
        """None: the forms in which engines tell log probabilities differ too much."""
        del prompt, max_tokens
        return ()


def _lead(logprobs: Sequence[float]) -> float:
    best = sorted(logprobs, reverse=True)
    return best[0] - best[1] if len(best) > 1 else float("inf")


async def recognise(client: httpx.AsyncClient, url: str, model: str) -> Engine:
    """The engine at an address, by the endpoints that it has.

    Raises:
        EngineError: there is none, or `model` is needed and empty.
    """
    url = url.rstrip("/").removesuffix("/v1")
    try:
        if await _has(client, f"{url}/model_info", "model_path"):
            return SGLang(client, url)
        if await _has(client, f"{url}/props", "default_generation_settings"):
            return LlamaCpp(client, url)
        if not model:
            listing = await client.get(f"{url}/v1/models")
            model = listing.json()["data"][0]["id"]
    except httpx.TransportError as error:
        raise EngineError(f"{url}: no engine answers: {why(error)}") from None
    except (ValueError, LookupError, TypeError):
        raise EngineError(f"{url}: lists no model: name one with --model") from None
    return OpenAI(client, url, model)


async def _has(client: httpx.AsyncClient, url: str, key: str) -> bool:
    answer = await client.get(url)
    if answer.status_code != httpx.codes.OK:
        return False
    try:
        return key in answer.json()
    except ValueError:
        return False
