"""`python -m loadtest.learning`: the policy `adaptive` on two real engines here, as prompts turn from edits to prose.

Writes a picture of where requests went, and what each pool was expected to give them, over time, and prints when the
policy's own choices had settled. The engines are those of `loadtest.local`; nothing is configured of the pools' speed.
Drafting pays for edits, at low load, and not for prose.
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
from statistics import fmean
from typing import NamedTuple

import httpx

from gateway.demo.engines import MODEL_NAME, Drafting
from loadtest.local import local_gateway
from loadtest.prompts import library

PHASES = ("regular", "prose", "regular")
# Where each kind of prompts is answered faster.
FASTER = {"regular": "speculative", "prose": "baseline"}
# With one thread a step of 17 tokens takes as long as eight of one: most of a draft must be right. After two tokens
# that were seen before it often is not, even in edits; after three it mostly is, and for long.
DRAFTING = Drafting(tokens=24, match=3)
# Learning goes by requests: short ones are as many in two minutes as with the longer answers of a faster engine.
TOKENS = 64


class Answer(NamedTuple):
    """When a request was sent (seconds from the start), where it went and why, and how fast it was (tokens/s).

    `ttft`: seconds from then to the first token, from which the speed counts.
    """

    at: float
    pool: str
    reason: str
    rate: float
    ttft: float

    @property
    def chosen(self) -> bool:
        """Whether the policy wanted it there, and not only to learn how it is there."""
        return self.reason != "exploration"


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
    with local_gateway(policy=policy, drafting=DRAFTING) as url:
        timeline = asyncio.run(measure(url, args.seconds, args.clients))
    from loadtest.report.timeline import draw

    draw(timeline, args.plot)
    print("\n".join(report(timeline, args.seconds)))
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
        # There are few prompts, and the pool in use would soon know them all by heart, which the other then does not.
        "cache_prompt": False,
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
    return Answer(at - started, headers["x-spillway-pool"], headers["x-spillway-reason"], rate, first - at)


def report(timeline: Timeline, seconds: float) -> list[str]:
    """Of each phase: when the policy's own choices had settled, where they went, and how fast answers were."""
    lines = []
    for start, kind in timeline.phases:
        phase = [one for one in timeline.answers if start <= one.at < start + seconds]
        chosen = [one for one in phase if one.chosen]
        second = [one for one in chosen if one.at >= start + seconds / 2]
        since = settled(chosen, FASTER[kind])
        held = sum(one.pool == FASTER[kind] for one in second)
        lines.append(
            f"{kind:8} {'never only' if since is None else f'{since - start:5.1f} s until only'} to {FASTER[kind]}; "
            f"in the second half {held} of {len(second)}"
        )
        for pool in FASTER.values():
            some = [one for one in phase if one.pool == pool]
            if some:
                rates = [one.rate for one in some]
                lines.append(
                    f"{'':8} {pool}: {len(some)} requests, {sum(one.chosen for one in some)} by choice, "
                    f"{fmean(rates):.0f} tok/s ({min(rates):.0f} to {max(rates):.0f}), "
                    f"first token after {fmean(one.ttft for one in some) * 1000:.0f} ms"
                )
    return lines


def settled(chosen: Sequence[Answer], pool: str) -> float | None:
    """When the first was sent from which on all went to this pool; None if the last did not."""
    since = None
    for one in chosen:
        if one.pool != pool:
            since = None
        elif since is None:
            since = one.at
    return since


if __name__ == "__main__":
    sys.exit(main())
