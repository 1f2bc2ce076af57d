"""`python -m bench.tracing`: what traces cost a gateway, off and on. Writes bench/TRACING.md.

Gateways that differ in OpenTelemetry alone, under the same loads in turn, on one machine and in one run. One of them
has the hooks of tracing cut out of its source, and what the hooks of the others take by themselves is timed as well.
"""

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.engine import Engines, engines
from bench.launch import proxy_target
from bench.measure import BUSY, LIGHT, STREAMED, Sample, Stat, Target, sample
from bench.otlp import Sink, sink
from bench.paths import BENCH, BUILD, ROOT, VENV
from bench.proxies.base import Proxy
from bench.proxies.spillway import package_versions, variant
from bench.unhooked import blocked, hooks_off, unhooked

LOADS = (LIGHT, BUSY, STREAMED)
OFF = "off"
SPANS_A_REQUEST = 5  # its own, and one each for decide, connect, first byte, stream
# What the hooks may take of a request while traces are off. Loads can't tell apart what is less than a hundredth.
MOST_OFF = 0.005
PAGE = """\
# What traces cost

Made by `python -m bench.tracing` on {cores} cores, which the load, the engines, the gateway and the receiver of traces
share: CPU times hold on a busy machine. Median of {repeats} rounds of {seconds:g} s each, lowest and highest in
brackets: a difference that is small against these is none. {versions}

| traces | CPU of a request, {light} at once | the same, {busy} at once | CPU of a streamed event |
| --- | --- | --- | --- |
{rows}

Over the gateway whose traces are off, within each round:

| traces | a request, {light} at once | {busy} at once | an event |
| --- | --- | --- | --- |
{ratios}

| traces | what it is |
| --- | --- |
{arms}

Off, a request meets {checks} checks that find nothing; together they take {hooks:.0f} ns here, {share:.2%} of a
request. None is on the path of an event. Target: at most {most:.1%}. {verdict}

| traces | spans that the receiver got | that the requests would make if all were sampled |
| --- | --- | --- |
{spans}

The receiver's count includes what was asked before the rounds, to warm up. What the SDK's thread does not send in time,
beside the event loop, exceeds its queue (`OTEL_BSP_MAX_QUEUE_SIZE`, 2,048 spans) and is dropped: then a span costs less
than it would if it were sent.
"""


@dataclass(frozen=True)
class Arm:
    """One gateway; `prepare` gives its row of bench/proxies."""

    name: str
    about: str
    prepare: Callable[[str], Proxy]


@dataclass(frozen=True)
class Round:
    """The loads on one gateway, one after the other."""

    light: Sample
    busy: Sample
    streamed: Sample

    @property
    def figures(self) -> tuple[float, float, float]:
        """Microseconds of CPU: of a request at either load, and of an event (what streams cost beyond requests)."""
        light, busy = (each.cpu / max(1, each.served.requests) * 1e6 for each in (self.light, self.busy))
        beyond = self.streamed.cpu * 1e6 - self.streamed.served.requests * light
        return light, busy, beyond / max(1, self.streamed.served.events)


def arms(stack: ExitStack, ratio: Callable[[str], Callable[[str], Proxy]]) -> tuple[Arm, ...]:
    """All of them; `ratio` makes a gateway that samples this share of requests."""
    bare, hiding = stack.enter_context(unhooked()), stack.enter_context(blocked())
    return (
        Arm("hooks cut out", "the gateway's source without what tracing added", lambda name: variant(name, bare)),
        Arm(
            "not installed",
            "no `OTEL_*`, and what the extra `otel` installs can't be imported",
            lambda name: variant(name, ROOT, {}, hiding),
        ),
        Arm(OFF, "no `OTEL_*`, the packages installed", lambda name: variant(name, ROOT)),
        Arm("on, ratio 0", "`OTEL_TRACES_SAMPLER=parentbased_traceidratio`, no request is sampled", ratio("0")),
        Arm("on, ratio 0.01", "one request in a hundred is sampled", ratio("0.01")),
        Arm("on, ratio 1", "each request is sampled and exported", ratio("1")),
    )


def main() -> int:
    """Exit status: 0, or 1 if the target was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.tracing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a load")
    parser.add_argument("--repeats", type=int, default=12, help="rounds")
    parser.add_argument("--output", type=Path, default=BENCH / "TRACING.md")
    args = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    with ExitStack() as stack:
        upstream = stack.enter_context(engines())
        sinks: dict[str, Sink] = {}

        def ratio(share: str) -> Callable[[str], Proxy]:
            receiver = sinks[f"on, ratio {share}"] = stack.enter_context(sink())
            env = {
                "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
                "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
                "OTEL_TRACES_SAMPLER_ARG": share,
            }
            return lambda name: variant(name, ROOT, env)

        all_arms = arms(stack, ratio)
        targets = {
            arm.name: stack.enter_context(proxy_target(arm.prepare(f"tracing-{at}"), upstream))
            for at, arm in enumerate(all_arms)
        }
        rounds = _measure(targets, upstream, args.seconds, args.repeats)
    spans = [
        f"| {name} | {receiver.spans():,} | {_requests(rounds[name]) * SPANS_A_REQUEST:,} |"
        for name, receiver in sinks.items()
    ]
    met = _write(args.output, all_arms, rounds, spans, args.seconds, args.repeats)
    print(args.output.read_text())
    return 0 if met else 1


def _requests(rounds: list[Round]) -> int:
    return sum(each.served.requests for one in rounds for each in (one.light, one.busy, one.streamed))


def _measure(targets: dict[str, Target], upstream: Engines, seconds: float, repeats: int) -> dict[str, list[Round]]:
    rounds: dict[str, list[Round]] = {name: [] for name in targets}
    for target in targets.values():
        sample(target, upstream, LIGHT, 2.0)
    for number in range(repeats):
        # Each load on all gateways in turn, forwards and backwards: what else the machine does meets all alike.
        order = list(targets) if number % 2 == 0 else list(reversed(targets))
        taken = {
            (name, phase.name): sample(targets[name], upstream, phase, seconds / phase.share)
            for phase in LOADS
            for name in order
        }
        for name in targets:
            done = Round(*(taken[name, phase.name] for phase in LOADS))
            if errors := sum(each.load.errors for each in (done.light, done.busy, done.streamed)):
                raise RuntimeError(f"{name}: {errors} requests failed")
            rounds[name].append(done)
            print(f"{number + 1}/{repeats} {name:16s}", *(f"{value:7.1f} µs" for value in done.figures), flush=True)
    return rounds


def _write(
    path: Path,
    all_arms: tuple[Arm, ...],
    rounds: dict[str, list[Round]],
    spans: list[str],
    seconds: float,
    repeats: int,
) -> bool:
    columns = {
        name: [list(it) for it in zip(*(one.figures for one in taken), strict=True)] for name, taken in rounds.items()
    }
    ratios = {
        name: [
            Stat.of([here / off for here, off in zip(*pair, strict=True)])
            for pair in zip(own, columns[OFF], strict=True)
        ]
        for name, own in columns.items()
    }
    rows = [
        f"| {name} | {' | '.join(_cell(Stat.of(column), 1, ' µs') for column in own)} |"
        for name, own in columns.items()
    ]
    checks, seconds_of_checks = hooks_off()
    share = seconds_of_checks * 1e6 / median(columns[OFF][1])
    met: bool = share <= MOST_OFF
    text = PAGE.format(
        cores=len(os.sched_getaffinity(0)),
        repeats=repeats,
        seconds=seconds,
        versions=f"{package_versions(VENV / 'python', 'opentelemetry-sdk', 'uvicorn', 'uvloop')}.",
        light=LIGHT.connections,
        busy=BUSY.connections,
        rows="\n".join(rows),
        ratios="\n".join(
            f"| {name} | {' | '.join(_cell(ratio, 3) for ratio in own)} |"
            for name, own in ratios.items()
            if name != OFF
        ),
        arms="\n".join(f"| {arm.name} | {arm.about} |" for arm in all_arms),
        spans="\n".join(spans),
        checks=checks,
        hooks=seconds_of_checks * 1e9,
        share=share,
        most=MOST_OFF,
        verdict="Met." if met else "Missed.",
    )
    path.write_text(text)
    return met


def _cell(stat: Stat, digits: int, unit: str = "") -> str:
    return f"{stat.median:.{digits}f}{unit} ({stat.low:.{digits}f} to {stat.high:.{digits}f})"


if __name__ == "__main__":
    sys.exit(main())
