"""`python -m bench.simulated_pair`: does the simulator say what real engines behind the real gateway do?

Two llama.cpp servers with a small model on this machine, one of which drafts, behind the gateway. Each pool is measured
by itself, and both at once: that makes the curves. The gateway also routes, at concurrencies and thresholds that were
not measured so, and the simulator says from the curves alone what comes out. A machine is not as fast in one minute as
in another: so all of it is measured in rounds, in each in another order, and what other programs disturbed is measured
again. Takes seven minutes, and wants a machine that does nothing else.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any, NamedTuple

import yaml

from bench.meter import cpu_seconds, machine_clock
from bench.pair_load import Counted, Traffic
from gateway.demo.engines import Drafting, LocalEngine
from gateway.demo.gateway import is_ready
from gateway.demo.model import prepare_model
from gateway.demo.process import Child
from gateway.routing import ROLES, Role
from gateway.simulator import compare
from gateway.simulator.compare import Case
from gateway.simulator.measures import Result
from gateway.simulator.simulation import Plan
from tests.docs.session import free_port

SLOTS, TOKENS = 16, 48
LEVELS = (1, 2, 4, 8, 12)
TOGETHER = (1, 4)
ROUTED = (("spill", 2, 3), ("spill", 2, 6), ("spill", 2, 12), ("spill", 4, 6), ("switch", 3, 2), ("switch", 3, 12))
FILL, WARM_UP, SECONDS, ROUNDS = 6.0, 0.8, 5.6, 3
# Of a core, what others may use meanwhile, and how often a cell is measured for it.
OTHERS, ATTEMPTS = 0.1, 2
# Seconds after which the mode `switch` has forgotten the load before.
FORGOTTEN = 2.5
# A simulated cell is as short as a real one; so many are as sure as one can be.
SEEDS, LOOKS = 60, 0.2

_say = partial(print, flush=True)


class Cell(NamedTuple):
    """`pins`: for each client the pool that its requests name, or None. `model`: in the gateway, with a policy."""

    name: str
    model: str
    pins: tuple[Role | None, ...]


def cells() -> list[Cell]:
    """All of them."""
    models = [f"{mode}-{threshold}-{clients}" for mode, threshold, clients in ROUTED]
    return [
        *(Cell(f"alone {role} {level}", models[0], (role,) * level) for role in ROLES for level in LEVELS),
        *(Cell(f"together {level}", models[0], (*ROLES,) * level) for level in TOGETHER),
        *(Cell(model, model, (None,) * clients) for model, (_, _, clients) in zip(models, ROUTED, strict=True)),
    ]


@contextmanager
def pair(folder: Path) -> Iterator[str]:
    """Both engines behind a gateway that has one model for each routed cell, all with these engines; its URL.

    So no cell finds what another has left of a policy's memory.
    """
    model = prepare_model()
    started = {
        role: LocalEngine(model, name=role, drafting=drafting, slots=SLOTS, unified=True, log=folder / f"{role}.log")
        for role, drafting in zip(ROLES, (Drafting(tokens=16, match=2), None), strict=True)
    }
    with started["speculative"], started["baseline"], free_port() as port:
        urls: dict[str, str] = {role: engine.url for role, engine in started.items()}
        pools = {
            role: {"engine": "llamacpp", "max_inflight": SLOTS, "discovery": {"static": [url]}}
            for role, url in urls.items()
        }
        models = [
            {
                "name": f"{mode}-{threshold}-{clients}",
                "policy": {"kind": "threshold", "mode": mode, "threshold": threshold, "allow_pinning": True},
                "pools": pools,
            }
            for mode, threshold, clients in ROUTED
        ]
        document = {
            "listen": {"host": "127.0.0.1", "port": port},
            "models": models,
            "drain": {"delay_seconds": 0, "timeout_seconds": 3},
        }
        path = folder / "gateway.yaml"
        path.write_text(yaml.safe_dump(document))
        with Child("gateway", "gateway.cli", ["serve", "--config", str(path)], folder / "gateway.log") as running:
            running.wait_until(partial(is_ready, f"http://127.0.0.1:{port}", urls), 30.0)
            yield f"http://127.0.0.1:{port}"


def measure(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Everything that is real: a record for each cell of each round."""
    found = []
    random = Random(seed)
    with pair(folder) as url:
        traffic = Traffic(url, TOKENS, seed)
        everything = cells()
        for role in ROLES:
            # So that each engine knows every prompt.
            asyncio.run(traffic.loop(everything[0].model, [role] * SLOTS, FILL, 1.0))
        for number in range(ROUNDS):
            for cell in random.sample(everything, len(everything)):
                record = {"cell": cell.name, "round": number, **_undisturbed(traffic, cell)}
                found.append(record)
                _say(record)
    return found


def _undisturbed(traffic: Traffic, cell: Cell) -> dict[str, Any]:
    """The best of a few attempts, by what others used of the machine."""
    attempts = []
    for number in range(ATTEMPTS):
        if number:
            time.sleep(FORGOTTEN)
        busy, own = machine_clock().busy, cpu_seconds(os.getpid())
        counted = asyncio.run(traffic.loop(cell.model, cell.pins, WARM_UP, SECONDS))
        others = machine_clock().busy - busy - (cpu_seconds(os.getpid()) - own)
        attempts.append((others / (WARM_UP + SECONDS), _record(counted)))
        if attempts[-1][0] <= OTHERS:
            break
    others, record = min(attempts, key=lambda attempt: attempt[0])
    return {**record, "others": round(others, 3), "attempts": len(attempts)}


def _record(counted: Counted) -> dict[str, Any]:
    return {
        "rates": {role: round(tokens / counted.seconds, 2) for role, tokens in counted.tokens.items()},
        "tokens": counted.tokens,
        "ended": counted.ended,
        "waits": {role: [round(wait, 4) for wait in waits] for role, waits in counted.waits.items()},
    }


class Real(NamedTuple):
    """A cell over its rounds: tokens per second, mean, least and most; by pool; and all seconds to first tokens."""

    throughput: float
    low: float
    high: float
    rates: Mapping[Role, float]
    waits: Sequence[float]

    @property
    def ttft(self) -> float:
        """Their median."""
        return median(self.waits) if self.waits else float("nan")


def real(measured: Sequence[Mapping[str, Any]], name: str) -> Real:
    """From the records."""
    mine = [record for record in measured if record["cell"] == name]
    totals = [sum(record["rates"].values()) for record in mine]
    rates = {role: fmean(record["rates"][role] for record in mine) for role in ROLES}
    waits = [wait for record in mine for some in record["waits"].values() for wait in some]
    return Real(fmean(totals), min(totals), max(totals), rates, waits)


def curves(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A file of curves from the cells in which clients named their pool."""
    alone = {role: {level: real(measured, f"alone {role} {level}") for level in LEVELS} for role in ROLES}
    losses = [
        1.0 - real(measured, f"together {level}").rates[role] / alone[role][level].throughput
        for level in TOGETHER
        for role in ROLES
    ]

    def engine(role: Role) -> dict[str, Any]:
        # Prompts are known to the engine: what is left until the first token are its steps.
        lags = {
            level: round(fmean(one.waits) * one.throughput / level, 2)
            for level, one in alone[role].items()
            if one.waits
        }
        lag = round(median(tokens for level, tokens in lags.items() if level > 1), 2)
        prefill = {"tokens_per_second": 1e9, "lag": lag, "lag_alone": lags[1]}
        return {"total": {level: round(one.throughput, 2) for level, one in alone[role].items()}, "prefill": prefill}

    return {
        "source": "bench/simulated_pair.py",
        "requests": {"prompt": 0, "output": round(answer(measured))},
        "shared": round(max(fmean(losses), 0.001), 3),
        "baseline": engine("baseline"),
        "speculative": {"edit": {"accept_length": 2.0, **engine("speculative")}},
    }


def answer(measured: Sequence[Mapping[str, Any]]) -> float:
    """Tokens of an answer in the mean: some end of themselves before they have all they may."""
    return sum(sum(record["tokens"].values()) for record in measured) / sum(
        sum(record["ended"].values()) for record in measured
    )


def simulated(path: Path, mode: str, threshold: int, clients: int, output: float) -> list[Result]:
    """The cell as it was run, from its first request, with other lengths each time."""
    whole = WARM_UP + SECONDS
    plan = Plan(10**9, whole, WARM_UP / whole, LOOKS)
    return [
        compare.run(
            Case(
                str(path),
                f"closed:{clients}",
                f"{mode}:{threshold}",
                plan,
                seed,
                max_inflight=SLOTS,
                output=f"exponential:{output:.1f}",
            )
        )
        for seed in range(SEEDS)
    ]


def report(measured: Sequence[Mapping[str, Any]], path: Path) -> list[float]:
    """Prints real beside simulated; returns how far throughput is off, as shares."""
    path.write_text(yaml.safe_dump(curves(measured)))
    _say(path.read_text())
    disturbed = [record for record in measured if record["others"] > OTHERS]
    _say(f"{len(measured)} cells, {len(disturbed)} of them disturbed; an answer has {answer(measured):.1f} tokens")
    off = []
    heads = ("policy", "clients", "real tok/s", "rounds", "simulated", "off")
    _say(f"| {' | '.join((*heads, 'real drafting', 'simulated', 'real TTFT', 'simulated'))} |")
    _say("| --- " * 10 + "|")
    for mode, threshold, clients in ROUTED:
        cell = real(measured, f"{mode}-{threshold}-{clients}")
        found = simulated(path, mode, threshold, clients, answer(measured))
        throughput = fmean(one.throughput for one in found)
        looks = [look for one in found for look in one.looks if look.time > WARM_UP]
        drafted = fmean(look.speculative for look in looks) / fmean(look.speculative + look.baseline for look in looks)
        off.append(throughput / cell.throughput - 1.0)
        _say(
            f"| `{mode}:{threshold}` | {clients} | {cell.throughput:.1f} | {cell.low:.0f} to {cell.high:.0f} "
            f"| {throughput:.1f} | {off[-1]:+.1%} "
            f"| {cell.rates['speculative'] / cell.throughput:.0%} | {drafted:.0%} "
            f"| {cell.ttft * 1000:.0f} ms | {fmean(one.ttft_p50 for one in found) * 1000:.0f} ms |"
        )
    return off


def main() -> int:
    """Exit status 1 if a figure is off by more than a tenth."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulated_pair", description=__doc__)
    parser.add_argument("--measured", type=Path, help="figures of an earlier run, in place of a new one")
    parser.add_argument("--keep", type=Path, help="where to keep the figures")
    parser.add_argument("--seed", type=int, default=1, help="of the order, and of the lengths")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spillway-pair-") as name:
        folder = Path(name)
        measured = json.loads(args.measured.read_text()) if args.measured else measure(folder, args.seed)
        if args.keep:
            args.keep.write_text(json.dumps(measured) + "\n")
        off = report(measured, folder / "pair.yaml")
    return int(max(map(abs, off)) > 0.1)


if __name__ == "__main__":
    sys.exit(main())
