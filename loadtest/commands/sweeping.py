"""Runs a sweep against a server and makes results of it. `sweep` and `calibrate` are both this."""

import asyncio
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx
import msgspec
import uvloop

from loadtest.commands.server import Server
from loadtest.records import LOCUST, ArmInfo, Results, line
from loadtest.stats import Cell, judge, judge_users
from loadtest.stats.crossover import BASELINE, SPECULATIVE
from loadtest.sweep import Plan, Status, StatusClient, Sweep, SweepError, neighbourhood

_complain = partial(print, file=sys.stderr, flush=True)


@dataclass
class Measurement:
    """A sweep to run: `plan` is made once the gateway's status is known, which is None for a server without it."""

    server: Server
    plan: Callable[[Status | None], Plan]
    note: str = ""
    say: Callable[[str], None] = print
    told: Callable[[str], None] = field(default=_complain)


def measure(wanted: Measurement) -> Results:
    """Runs it and says each cell's line. Interrupted, it returns what it has. Raises SweepError."""
    return uvloop.run(_measure(wanted))


async def _measure(wanted: Measurement) -> Results:
    place, created = wanted.server, datetime.now(UTC)
    verify = place.target.context or True
    async with httpx.AsyncClient(verify=verify, trust_env=False, timeout=10, headers=place.target.headers) as http:
        model = place.model or await _first_model(http, place.target.url)
        client = StatusClient(http, place.status_url, model)
        status = await client.look()
        plan = wanted.plan(status)
        sweep = Sweep(plan, place.target, model, status=client, timeout=place.timeout, say=wanted.told)
        complete = await _run(sweep, wanted)
    results = Results(
        created=created.isoformat(timespec="seconds"),
        url=place.target.url,
        model=model,
        plan=described(plan),
        arms=[ArmInfo(arm.name, str(arm)) for arm in plan.arms],
        cells=sweep.cells,
        looks=sweep.looks,
        verdict=judge([]),
        policy={name: value for name, value in msgspec.to_builtins(status.policy).items() if value} if status else {},
        replicas={name: pool.ready for name, pool in status.pools.items()} if status else {},
        machine=f"generator on {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        note=wanted.note,
        complete=complete,
    )
    rejudge(results)
    return results


def rejudge(results: Results) -> None:
    """Puts the verdict on all its cells into the results."""
    if results.kind == LOCUST:
        results.verdict = judge_users(results.cells)
        return
    threshold: int | None = results.policy.get("threshold")
    replicas = _replicas_in_common(results.replicas)
    results.verdict = judge(results.cells, replicas=replicas, threshold=threshold)


async def _run(sweep: Sweep, wanted: Measurement) -> bool:
    start = time.monotonic()

    def done(cell: Cell, count: int) -> None:
        wanted.say(line(cell))
        elapsed = time.monotonic() - start
        left = elapsed / count * (sweep.plan.size - count)
        wanted.told(f"[{count}/{sweep.plan.size}] {elapsed / 60:.1f} min, about {left / 60:.1f} left")

    try:
        await sweep.run(done)
    except (asyncio.CancelledError, KeyboardInterrupt):
        wanted.told("interrupted")
        return False
    return True


async def _first_model(http: httpx.AsyncClient, url: str) -> str:
    try:
        response = (await http.get(f"{url}/v1/models")).raise_for_status()
        name = response.json()["data"][0]["id"]
    except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
        raise SweepError(f"{url}/v1/models names no model ({error}): check --url, or give --model") from error
    return str(name)


def _replicas_in_common(replicas: dict[str, int]) -> int:
    """Replicas of each of the two pools if they have as many; else 1, and levels mean the pools as they are."""
    counts = {replicas.get(SPECULATIVE, 1), replicas.get(BASELINE, 1)}
    return max(1, counts.pop()) if len(counts) == 1 else 1


def with_neighbourhood(levels: tuple[int, ...], status: Status | None) -> tuple[int, ...]:
    """The levels with those around the speculative pool's limit in force. Raises SweepError if that is not known."""
    pool = status.pools.get(SPECULATIVE) if status else None
    if pool is None or not pool.limit:
        raise SweepError("the limit in force is not known: /status does not show it (try --status-url)")
    return tuple(sorted({*levels, *neighbourhood(pool.limit)}))


def described(plan: Plan) -> dict[str, Any]:
    """A plan for results.json."""
    return {
        "levels": list(plan.levels),
        "repeats": plan.repeats,
        "requests": plan.requests,
        "per_client": plan.per_client,
        "max_tokens": plan.max_tokens,
        "warmup": plan.warmup,
        "warm_levels": plan.warm_levels,
        "mix": str(plan.mix),
        "unique": plan.unique,
        "seed": plan.seed,
        "settle": plan.settle,
        "body": dict(plan.body),
    }


def summary(results: Results) -> str:
    """The verdict as text."""
    verdict = results.verdict
    targets = [
        f"{'met   ' if target.passed else 'MISSED'}  {target.text}: {target.figure:.2f}" for target in verdict.targets
    ]
    return "\n".join([*verdict.sentences, *(f"Doubt: {doubt}" for doubt in verdict.doubts), "", *targets])
