"""`python -m loadtest.learning`: the policy `adaptive` on two real engines here, as prompts turn from edits to prose.

Writes a picture of where requests went, and what each pool was expected to give them, over time. The engines are
those of `loadtest.local`; nothing is configured of the pools' speed. Drafting pays for edits, at low load, and not for
prose.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from random import Random
from typing import NamedTuple

import httpx

from gateway.demo.engines import MODEL_NAME
from loadtest.local import local_gateway
from loadtest.prompts import library

PHASES = ("regular", "prose", "regular")
TOKENS = 64


class Answer(NamedTuple):
    """When a request was sent (seconds from the start), where it went and why, and how fast it was (tokens/s)."""

    at: float
    pool: str
    reason: str
    rate: float


class Expected(NamedTuple):
    """What the gateway expected of a request in each pool, at a time."""

    at: float
    speculative: float
    baseline: float


class Timeline(NamedTuple):
    """A whole run. `phases`: when each kind of prompts began."""

    phases: Sequence[tuple[float, str]]
    answers: Sequence[Answer]
    expected: Sequence[Expected]


def main() -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.learning", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each kind of prompts")
    parser.add_argument("--clients", type=int, default=1, help="closed loops")
    parser.add_argument("--plot", type=Path, metavar="PNG", default=Path("learning.png"))
    args = parser.parse_args()
    policy: dict[str, object] = {"kind": "adaptive", "objective": "latency"}
    with local_gateway(policy=policy) as url:
        timeline = asyncio.run(measure(url, args.seconds, args.clients))
    from loadtest.report.timeline import draw

    draw(timeline, args.plot)
    for kind, pool, count in shares(timeline, args.seconds):
        print(f"{kind:8} second half: {count:4} requests to {pool}")
    return 0


async def measure(url: str, seconds: float, clients: int) -> Timeline:
    """Loads the gateway with one kind of prompts after the other."""
    started = time.monotonic()
    phases: list[tuple[float, str]] = []
    answers: list[Answer] = []
    expected: list[Expected] = []

    async with httpx.AsyncClient(base_url=url, timeout=60.0, trust_env=False) as http:

        async def client(kind: str, until: float, seed: int) -> None:
            prompts = list(library(kind))
            Random(seed).shuffle(prompts)
            for prompt in cycle(prompts):
                if time.monotonic() >= until:
                    return
                answers.append(await _ask(http, prompt.text, started))

        async def watch(until: float) -> None:
            while time.monotonic() < until:
                told = (await http.get("/status")).json()["models"][0]["adaptive"]["pools"]
                rates = [told[pool]["curve"][0]["rate"] if told[pool]["curve"] else 0.0 for pool in told]
                expected.append(Expected(time.monotonic() - started, *rates))
                await asyncio.sleep(1.0)

        for number, kind in enumerate(PHASES):
            phases.append((time.monotonic() - started, kind))
            print(f"{kind}: {seconds:g} s", file=sys.stderr, flush=True)
            until = time.monotonic() + seconds
            loops = [client(kind, until, 10 * number + one) for one in range(clients)]
            await asyncio.gather(watch(until), *loops)
    return Timeline(phases, answers, expected)


async def _ask(http: httpx.AsyncClient, text: str, started: float) -> Answer:
    body = {
        "model": MODEL_NAME,
        "messages": [{"role": "user", "content": text}],
        "max_tokens": TOKENS,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    at, first, last, tokens = time.monotonic(), 0.0, 0.0, 0
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        headers = response.headers
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                last = time.monotonic()
                first = first or last
                tokens = (json.loads(line[6:]).get("usage") or {}).get("completion_tokens", tokens)
    rate = (tokens - 1) / (last - first) if last > first else 0.0
    return Answer(at - started, headers["x-spillway-pool"], headers["x-spillway-reason"], rate)


def shares(timeline: Timeline, seconds: float) -> list[tuple[str, str, int]]:
    """How many requests of each phase's second half went to each pool, exploration apart."""
    found = []
    for start, kind in timeline.phases:
        half = [
            one
            for one in timeline.answers
            if start + seconds / 2 <= one.at < start + seconds and one.reason != "exploration"
        ]
        found += [(kind, pool, sum(one.pool == pool for one in half)) for pool in ("speculative", "baseline")]
    return found


if __name__ == "__main__":
    sys.exit(main())
