"""`python -m bench.simulated_pair`: does the simulator say what real engines behind the real gateway do?

Two llama.cpp servers with a small model on this machine, one of which drafts, behind the gateway. Each pool is
measured by itself, and both at once: that makes the curves. Between that, the gateway routes at concurrencies and
thresholds that were not measured so, and the simulator says from the curves alone what comes out. All of it is measured
in two rounds, as a machine is not as fast in one minute as in another, and each cell's figure is the mean over the
rounds. Takes seven minutes, and wants a machine that does nothing else.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import openai
import yaml

from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.gateway import is_ready
from gateway.demo.model import prepare_model
from gateway.demo.process import Child
from gateway.demo.prompts import prompts
from gateway.demo.traffic import client
from gateway.routing import ROLES
from gateway.simulator import compare
from gateway.simulator.compare import Case
from gateway.simulator.simulation import Plan
from tests.docs.session import free_port

SLOTS = 16
TOKENS = 48
LEVELS = (1, 2, 4, 6, 8, 12, 16)
TOGETHER = (1, 4)
ROUTED = (("spill", 2, 3), ("spill", 2, 6), ("spill", 2, 12), ("spill", 4, 6), ("switch", 3, 2), ("switch", 3, 12))
WARM_UP, SECONDS, ROUNDS = 1.5, 4.5, 2

_say = partial(print, flush=True)


class Answer(NamedTuple):
    """One request by its client's clock, in seconds."""

    sent: float
    first: float
    last: float
    tokens: int
    pool: str


class Cell(NamedTuple):
    """What `clients` got together: tokens per second while all of them were asking; medians of whole requests."""

    clients: int
    throughput: float
    speed: float
    ttft: float
    tokens: float
    drafting: float


async def ask(openai_client: openai.AsyncOpenAI, prompt: str, pin: str | None) -> Answer:
    """One streamed request."""
    sent, first, tokens = time.monotonic(), 0.0, 0
    response = await openai_client.chat.completions.with_raw_response.create(
        model=MODEL_NAME,
        messages=[{"role": "user", "content": prompt}],
        max_tokens=TOKENS,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
        extra_headers={"x-spillway-pool": pin} if pin else {},
    )
    async for chunk in response.parse():
        if not first and chunk.choices and chunk.choices[0].delta.content:
            first = time.monotonic()
        if chunk.usage is not None:
            tokens = chunk.usage.completion_tokens
    return Answer(sent, first, time.monotonic(), tokens, response.headers["x-spillway-pool"])


async def closed_loop(url: str, clients: Sequence[str | None], seconds: float) -> list[Cell]:
    """One client for each entry, which names its pool or none; a cell for each name."""
    start = time.monotonic()
    until = start + WARM_UP + seconds
    waiting = iter(prompts(100_000))

    async def one(openai_client: openai.AsyncOpenAI, pin: str | None) -> list[Answer]:
        answers = []
        while time.monotonic() < until:
            answers.append(await ask(openai_client, next(waiting), pin))
        return answers

    async with client(url) as openai_client:
        by_client = await asyncio.gather(*(one(openai_client, pin) for pin in clients))
    found = []
    for name in dict.fromkeys(clients):
        own = [answers for pin, answers in zip(clients, by_client, strict=True) if pin == name]
        found.append(_cell([answer for answers in own for answer in answers], len(own), start + WARM_UP, until))
    return found


def _cell(answers: Sequence[Answer], clients: int, since: float, until: float) -> Cell:
    generated = sum(
        answer.tokens * max(0.0, min(answer.last, until) - max(answer.sent, since)) / (answer.last - answer.sent)
        for answer in answers
    )
    return Cell(
        clients,
        generated / (until - since),
        median(answer.tokens / (answer.last - answer.sent) for answer in answers),
        median(answer.first - answer.sent for answer in answers),
        fmean(answer.tokens for answer in answers),
        fmean(answer.pool == "speculative" for answer in answers),
    )


@contextmanager
def engines(folder: Path) -> Iterator[dict[str, str]]:
    """Both, ready; their URLs by pool."""
    model = prepare_model()
    with ExitStack() as stack:
        started = {
            role: LocalEngine(model, name=role, drafting=drafting, slots=SLOTS, log=folder / f"{role}.log")
            for role, drafting in zip(ROLES, (Drafting(tokens=16, match=2), None), strict=True)
        }
        for engine in started.values():
            stack.callback(engine.stop)
            engine.start()
        for engine in started.values():
            engine.wait_ready()
        yield {role: engine.url for role, engine in started.items()}


@contextmanager
def gateway(folder: Path, urls: dict[str, str], mode: str, threshold: int) -> Iterator[str]:
    """Its URL."""
    pools = {
        role: {"engine": "llamacpp", "max_inflight": SLOTS, "discovery": {"static": [url]}}
        for role, url in urls.items()
    }
    policy = {"kind": "threshold", "mode": mode, "threshold": threshold, "allow_pinning": True}
    with free_port() as port:
        path = folder / "gateway.yaml"
        document = {
            "listen": {"host": "127.0.0.1", "port": port},
            "models": [{"name": MODEL_NAME, "policy": policy, "pools": pools}],
            "drain": {"delay_seconds": 0, "timeout_seconds": 3},
        }
        path.write_text(yaml.safe_dump(document))
        with Child("gateway", "gateway.cli", ["serve", "--config", str(path)], folder / "gateway.log") as running:
            running.wait_until(partial(is_ready, f"http://127.0.0.1:{port}", urls), 30.0)
            yield f"http://127.0.0.1:{port}"


def measure(folder: Path) -> dict[str, Any]:
    """Everything that is real: for each cell what it was in each round."""
    alone: dict[str, list[list[Cell]]] = {role: [[] for _ in LEVELS] for role in ROLES}
    together: list[list[list[Cell]]] = [[[] for _ in ROLES] for _ in TOGETHER]
    routed: list[list[Cell]] = [[] for _ in ROUTED]
    with engines(folder) as urls:
        for number in range(ROUNDS):
            with gateway(folder, urls, "spill", 2) as url:
                for role in ROLES:
                    if not number:
                        asyncio.run(closed_loop(url, [role] * SLOTS, 3.0))
                    for cells, level in zip(alone[role], LEVELS, strict=True):
                        cells += asyncio.run(closed_loop(url, [role] * level, SECONDS))
                        _say(role, cells[-1])
                for pair, level in zip(together, TOGETHER, strict=True):
                    for cells, cell in zip(pair, asyncio.run(closed_loop(url, [*ROLES] * level, SECONDS)), strict=True):
                        cells.append(cell)
                        _say("together", cell)
            for cells, (mode, threshold, level) in zip(routed, ROUTED, strict=True):
                with gateway(folder, urls, mode, threshold) as url:
                    cells += asyncio.run(closed_loop(url, [None] * level, SECONDS))
                    _say(mode, threshold, cells[-1])
    return {
        "alone": {role: [_over(cells) for cells in levels] for role, levels in alone.items()},
        "together": [[_over(cells) for cells in pair] for pair in together],
        "routed": [[mode, threshold, _over(cells)] for (mode, threshold, _), cells in zip(ROUTED, routed, strict=True)],
    }


def _over(rounds: Sequence[Cell]) -> dict[str, float]:
    """The mean over the rounds, and by how much of it throughput differed between the least and the most."""
    _, *means = (fmean(figures) for figures in zip(*rounds, strict=True))
    cell = Cell(rounds[0].clients, *means)
    figures = [each.throughput for each in rounds]
    return {**cell._asdict(), "spread": (max(figures) - min(figures)) / cell.throughput}


def _cell_of(figures: Mapping[str, float]) -> Cell:
    """Without what `_over` adds."""
    return Cell(int(figures["clients"]), *(figures[name] for name in Cell._fields[1:]))


def curves(measured: dict[str, Any]) -> dict[str, Any]:
    """A file of curves from the first half of what was measured."""
    alone = {role: [_cell_of(cell) for cell in cells] for role, cells in measured["alone"].items()}
    together = [[_cell_of(cell) for cell in cells] for cells in measured["together"]]
    losses = []
    for level, (fast, plain) in zip(TOGETHER, together, strict=True):
        apart = sum(cell.throughput for cells in alone.values() for cell in cells if cell.clients == level)
        losses.append(1.0 - (fast.throughput + plain.throughput) / apart)

    def engine(role: str) -> dict[str, Any]:
        cells = alone[role]
        # Prompts are cached but for their end: what is left until the first token is the engine's steps.
        lag = median(cell.ttft * cell.speed for cell in cells)
        prefill = {"tokens_per_second": 1e9, "lag": round(lag, 2)}
        return {"total": {cell.clients: round(cell.throughput, 2) for cell in cells}, "prefill": prefill}

    tokens = round(fmean(cell.tokens for cells in alone.values() for cell in cells))
    return {
        "source": "bench/simulated_pair.py",
        "requests": {"prompt": 0, "output": tokens},
        "shared": round(max(fmean(losses), 0.001), 3),
        "baseline": engine("baseline"),
        "speculative": {"edit": {"accept_length": 2.0, **engine("speculative")}},
    }


def report(measured: dict[str, Any], path: Path) -> list[float]:
    """Prints real beside simulated; returns how far throughput is off, as shares."""
    path.write_text(yaml.safe_dump(curves(measured)))
    _say(path.read_text())
    off = []
    heads = ("policy", "clients", "real tok/s", "between rounds", "simulated", "off")
    _say(f"| {' | '.join((*heads, 'real drafting', 'simulated', 'real TTFT', 'simulated'))} |")
    _say("| --- " * 10 + "|")
    for mode, threshold, figures in measured["routed"]:
        cell = _cell_of(figures)
        case = Case(str(path), f"closed:{cell.clients}", f"{mode}:{threshold}", Plan(requests=3000))
        found = compare.run(case)
        off.append(found.throughput / cell.throughput - 1.0)
        _say(
            f"| {mode}, {threshold} | {cell.clients} | {cell.throughput:.1f} | {figures['spread']:.0%} "
            f"| {found.throughput:.1f} | {off[-1]:+.0%} "
            f"| {cell.drafting:.0%} | {found.speculative_share:.0%} "
            f"| {cell.ttft * 1000:.0f} ms | {found.ttft_p50 * 1000:.0f} ms |"
        )
    return off


def main() -> int:
    """Exit status 1 if a figure is off by more than a tenth."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulated_pair", description=__doc__)
    parser.add_argument("--measured", type=Path, help="figures of an earlier run, in place of a new one")
    parser.add_argument("--keep", type=Path, help="where to keep the figures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spillway-pair-") as name:
        folder = Path(name)
        measured = json.loads(args.measured.read_text()) if args.measured else measure(folder)
        if args.keep:
            args.keep.write_text(json.dumps(measured, indent=1) + "\n")
        off = report(measured, folder / "pair.yaml")
    return int(max(map(abs, off)) > 0.1)


if __name__ == "__main__":
    sys.exit(main())
