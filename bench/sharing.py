"""`python -m bench.sharing`: what it costs a gateway, and Redis, to share counts. Writes bench/REDIS.md.

Two gateways that differ in the section `redis` alone, under the same loads in turn, on one machine and in one run.
"""

import argparse
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import redis

from bench.engine import Engines, engines
from bench.launch import proxy_target
from bench.measure import BUSY, LIGHT, Phase, Sample, Stat, Target, sample
from bench.meter import process_clock
from bench.paths import BENCH, BUILD, tool
from bench.process import free_port, running, wait_until
from bench.proxies.spillway import sharing
from bench.quantile import Buckets, between, look, quantile
from bench.script import Step, memory_per_lease, steps

DECISIONS = "spillway_relay_overhead_seconds"
ALONE, SHARED = "counting alone", "counting in Redis"
SINGLE = Phase("single", stream=False, connections=1, share=0.5)
APART = Phase("apart", stream=False, connections=64, share=0.5, think_ms=10.0)
LOADS = {SINGLE: "1 at once", LIGHT: "16 at once", APART: "64 clients with pauses", BUSY: "64 at once"}
ADDED_CPU, ADDED_P99_MS = 0.40, 2.0
PAGE = """\
# What sharing counts costs

Made by `python -m bench.sharing` on {cores} cores, which the load, the engines, both gateways and Redis share: the CPU
times hold on a busy machine, the latencies are upper bounds. Median of {repeats} rounds of {seconds:g} s each, lowest
and highest in brackets. {versions}

## A gateway

Requests that are not streamed: of 1, 16 or 64 clients that ask again at once, and of 64 that pause at random, for 10 ms
in the mean. The decision is what the gateway takes from a request's last byte to having sent it to the engine
(`spillway_relay_overhead_seconds`), with the wait for Redis in it; the answer is what the client waits for, of which
the engine takes 5 ms.

64 clients without pauses keep a gateway busy all the time: what they wait for is a gateway that has time for them. As
these engines answer all that came together at the same time, the requests come in waves. A decision that is taken alone
does not show the wait for the requests before it in its wave, as it begins when the gateway comes to its request; one
in Redis shows what the gateway does on others until it takes in the reply. Answers show it in both cases.

| | CPU for a request | decision p50 | decision p99 | answer p50 | answer p99 |
| --- | --- | --- | --- | --- | --- |
{rows}

Targets: at most {added_cpu:.0%} more CPU, and decisions at most {added_p99:g} ms later at the 99th percentile.
"Busy" is the CPU that the gateway used, of one core.

| load | busy: alone, in Redis | CPU | decision p99 | | answer p50 | answer p99 |
| --- | --- | --- | --- | --- | --- | --- |
{verdicts}

## Redis

CPU of the server for one request of the loads above: {server}.

The script alone, with 2 + 16 replicas, by how many requests one step asks for and gives back:

| requests a step | CPU of a step | CPU of a request |
| --- | --- | --- |
{steps}

A lease takes {lease:.0f} bytes: {thousand:.2f} MB for a thousand requests in flight.
"""


@dataclass(frozen=True)
class Round:
    """One load on one gateway, and the CPU seconds that Redis used meanwhile."""

    load: Sample
    server: float
    decisions: Buckets

    @property
    def micros(self) -> float:
        """CPU of the gateway for a request."""
        return self.load.cpu / max(1, self.load.served.requests) * 1e6

    @property
    def busy(self) -> float:
        """The share of a core that the gateway used."""
        return self.load.cpu / self.load.load.seconds

    def decision_ms(self, share: float) -> float:
        """A quantile of what decisions took."""
        return quantile(share, self.decisions) * 1000

    @property
    def server_micros(self) -> float:
        """CPU of Redis for a request."""
        return self.server / max(1, self.load.served.requests) * 1e6


Rounds = dict[tuple[str, str], list[Round]]


def main() -> int:
    """Exit status: 0, or 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.sharing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a load")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--output", type=Path, default=BENCH / "REDIS.md")
    args = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    with ExitStack() as stack:
        port = free_port()
        log = BUILD / "redis.log"
        argv = [tool("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        server = stack.enter_context(running(argv, log))
        client = stack.enter_context(redis.Redis(port=port))
        wait_until(lambda: _answers(client), server, log)
        upstream = stack.enter_context(engines())
        pair = (sharing("spillway-alone", None), sharing("spillway-redis", f"redis://127.0.0.1:{port}"))
        targets = [stack.enter_context(proxy_target(proxy, upstream)) for proxy in pair]
        named = dict(zip((ALONE, SHARED), targets, strict=True))
        rounds = _measure(named, upstream, server, args.seconds, args.repeats)
        version = f"Redis {client.info('server')['redis_version']}, Spillway {pair[0].version()}."
        lease, script = memory_per_lease(client), steps(client)
    met = _write(args.output, rounds, script, lease, version, args.seconds, args.repeats)
    print(args.output.read_text())
    return 0 if met else 1


def _answers(client: "redis.Redis") -> bool:
    try:
        return bool(client.ping())
    except redis.exceptions.RedisError:
        return False


def _measure(
    targets: dict[str, Target], upstream: Engines, server: subprocess.Popen[bytes], seconds: float, repeats: int
) -> Rounds:
    rounds: Rounds = {(name, phase.name): [] for name in targets for phase in LOADS}
    for target in targets.values():
        _round(target, upstream, server, LIGHT, 2.0)
    for number in range(repeats):
        order = list(targets) if number % 2 == 0 else list(reversed(targets))
        for phase in LOADS:
            for name in order:
                taken = _round(targets[name], upstream, server, phase, seconds)
                rounds[name, phase.name].append(taken)
                p99 = taken.decision_ms(0.99)
                print(f"{number + 1}/{repeats} {name:18s} {phase.name:6s} {taken.micros:6.1f} µs  p99 {p99:.2f} ms")
                if taken.load.load.errors:
                    raise RuntimeError(f"{name}: {taken.load.load.errors} requests failed")
    return rounds


def _round(target: Target, upstream: Engines, server: subprocess.Popen[bytes], phase: Phase, seconds: float) -> Round:
    before, decided = process_clock(server.pid), look(target.port, DECISIONS)
    taken = sample(target, upstream, phase, seconds / phase.share)
    server_seconds = process_clock(server.pid) - before
    return Round(taken, server_seconds, between(decided, look(target.port, DECISIONS)))


def _write(
    path: Path, rounds: Rounds, script: list[Step], lease: float, version: str, seconds: float, repeats: int
) -> bool:
    rows, verdicts, met = [], [], True
    for phase, title in LOADS.items():
        for name in (ALONE, SHARED):
            taken = rounds[name, phase.name]
            cells = (
                _cell([each.micros for each in taken], "µs", 0),
                _cell([each.decision_ms(0.5) for each in taken], "ms", 2),
                _cell([each.decision_ms(0.99) for each in taken], "ms", 2),
                _cell([each.load.load.p50_ms for each in taken], "ms", 2),
                _cell([each.load.load.p99_ms for each in taken], "ms", 2),
            )
            rows.append(f"| {name}, {title} | {' | '.join(cells)} |")
        alone, shared = rounds[ALONE, phase.name], rounds[SHARED, phase.name]
        cpu = _median([each.micros for each in shared]) / _median([each.micros for each in alone]) - 1
        p99, half, most = (
            _median([value(each) for each in shared]) - _median([value(each) for each in alone])
            for value in (_decision_p99, _answer_p50, _answer_p99)
        )
        busy = [_median([each.busy for each in each_round]) for each_round in (alone, shared)]
        good = cpu <= ADDED_CPU and p99 <= ADDED_P99_MS
        met = met and good
        said = "met" if good else "missed"
        added = (f"{cpu:+.0%}", f"{p99:+.2f} ms", said, f"{half:+.2f} ms", f"{most:+.2f} ms")
        verdicts.append(f"| {title} | {busy[0]:.0%}, {busy[1]:.0%} | {' | '.join(added)} |")
    server = ", ".join(
        f"{_cell([each.server_micros for each in rounds[SHARED, phase.name]], 'µs', 0)} at {phase.connections}"
        for phase in LOADS
    )
    text = PAGE.format(
        cores=len(os.sched_getaffinity(0)),
        repeats=repeats,
        seconds=seconds,
        versions=version,
        rows="\n".join(rows),
        added_cpu=ADDED_CPU,
        added_p99=ADDED_P99_MS,
        verdicts="\n".join(verdicts),
        server=server,
        steps="\n".join(
            f"| {each.requests} | {each.micros:.0f} µs | {each.micros / each.requests:.0f} µs |" for each in script
        ),
        lease=lease,
        thousand=lease / 1000,
    )
    path.write_text(text)
    return met


def _decision_p99(taken: Round) -> float:
    return taken.decision_ms(0.99)


def _answer_p50(taken: Round) -> float:
    return taken.load.load.p50_ms


def _answer_p99(taken: Round) -> float:
    return taken.load.load.p99_ms


def _median(values: list[float]) -> float:
    return Stat.of(values).median


def _cell(values: list[float], unit: str, digits: int) -> str:
    stat = Stat.of(values)
    return f"{stat.median:.{digits}f} {unit} ({stat.low:.{digits}f} to {stat.high:.{digits}f})"


if __name__ == "__main__":
    sys.exit(main())
