"""The comparison itself."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from spillway_engine.verify.engines import Answer, Engine, EngineError, recognise

_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place at which two answers differ."""

    prompt: int
    place: int
    """Token, or character, counted from 0."""
    ours: int | str | None
    """What the first engine has there; None if its answer has ended."""
    theirs: int | str | None
    before: str
    """The end of the text before it, as the second engine has it; empty where units are tokens of differing text."""
    margin: float | None
    """By how much the second engine's choice led there, in nats; None if it does not say."""
    tie: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One engine, over all prompts."""

    url: str
    kind: str
    tokens: int
    seconds: float
    accept_length: float | None

    @property
    def rate(self) -> float:
        """Tokens per second of one request."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a comparison."""

    prompts: int
    by_token: bool
    sides: tuple[Side, Side]
    divergences: tuple[Divergence, ...]

    @property
    def lossless(self) -> bool:
        """Whether the answers differ nowhere but at ties."""
        return all(it.tie for it in self.divergences)


def first_difference(ours: Sequence[int | str], theirs: Sequence[int | str]) -> int | None:
    """Where two answers differ first; None if they are the same. One that ends sooner differs at its end."""
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return place
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


async def compare(
    ours: str, theirs: str, *, prompts: Sequence[str], max_tokens: int, concurrency: int, tie: float, model: str = ""
) -> Result:
    """Ask both engines everything, one engine after the other so that neither slows the other.

    Raises:
        EngineError: an engine can't be asked.
    """
    async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
        engines = [await recognise(client, url, model) for url in (ours, theirs)]
        if engines[0].by_token != engines[1].by_token:
            raise EngineError(f"{engines[0].kind} and {engines[1].kind} can't be compared: take two of one kind")
        answers = [await _ask(engine, prompts, max_tokens, concurrency) for engine in engines]
        divergences = [
            await _explain(engines[1], number, prompt, max_tokens, place, mine, other, tie)
            for number, (prompt, mine, other) in enumerate(zip(prompts, *answers, strict=True))
            if (place := first_difference(mine.units, other.units)) is not None
        ]
    sides = (_side(engines[0], answers[0]), _side(engines[1], answers[1]))
    return Result(len(prompts), engines[0].by_token, sides, tuple(divergences))


async def _ask(engine: Engine, prompts: Sequence[str], max_tokens: int, concurrency: int) -> list[Answer]:
    places = asyncio.Semaphore(concurrency)

    async def one(prompt: str) -> Answer:
        async with places:
            return await engine.ask(prompt, max_tokens)

    await engine.ask(prompts[0], 1)  # what an engine does for the first request only is not its speed
    return await asyncio.gather(*map(one, prompts))


async def _explain(
    engine: Engine, number: int, prompt: str, max_tokens: int, place: int, mine: Answer, other: Answer, tie: float
) -> Divergence:
    margins = await engine.margins(prompt, max_tokens)
    margin = margins[place] if place < len(margins) else None
    return Divergence(
        prompt=number,
        place=place,
        ours=mine.units[place] if place < len(mine.units) else None,
        theirs=other.units[place] if place < len(other.units) else None,
        before=_common(mine.text, other.text)[-40:],
        margin=margin,
        tie=margin is not None and margin <= tie,
    )


def _common(ours: str, theirs: str) -> str:
    place = first_difference(ours, theirs)
    return theirs if place is None else theirs[:place]


def _side(engine: Engine, answers: Sequence[Answer]) -> Side:
    told = [(it.accept_length, it.tokens) for it in answers if it.accept_length]
    # Over all tokens: long answers count for more than short ones.
    passes = sum(tokens / length for length, tokens in told)
    length = sum(tokens for _, tokens in told) / passes if passes else None
    return Side(engine.url, engine.kind, sum(it.tokens for it in answers), sum(it.seconds for it in answers), length)
