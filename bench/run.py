"""The whole run: every target up at once, loads interleaved and repeated, memory last."""

import contextlib
import json
import sys
import time
from dataclasses import asdict, dataclass, field

from bench.engine import Engines, engines
from bench.launch import proxy_target
from bench.measure import PHASES, Phase, Repeat, Row, Sample, Target, sample, summarise
from bench.memory import MemoryCurve, memory_over_streams
from bench.paths import BUILD
from bench.proxies.base import Proxy

ENGINE_ROW = "engine alone"
WARM_UP_SECONDS = 1.0


@dataclass(frozen=True)
class Plan:
    """What to run. `seconds` is the length of a streamed phase; the others are shares of it."""

    proxies: tuple[Proxy, ...]
    repeats: int
    seconds: float
    memory_streams: int


@dataclass(frozen=True)
class Results:
    """What came of it."""

    plan: Plan
    versions: dict[str, str]
    rows: dict[str, Row]
    memory: MemoryCurve | None
    wall_seconds: float


@dataclass
class Progress:
    """One line on standard error for each step, with the time that is left."""

    steps: int
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        """A line that is no step."""
        print(text, file=sys.stderr, flush=True)

    def step(self, text: str) -> None:
        """A step that has ended."""
        self.done += 1
        elapsed = time.monotonic() - self.start
        left = elapsed / self.done * (self.steps - self.done)
        self.say(f"[{self.done:3d}/{self.steps}] {text}  ({elapsed / 60:.1f} min, about {left / 60:.1f} left)")


def _describe(target: Target, phase: Phase, result: Sample) -> str:
    text = f"{target.name:14s} {phase.name:8s} {result.load.rate:7.0f}/s  p50 {result.load.p50_ms:7.2f} ms"
    if target.process is not None:
        text += (
            f"  {result.cpu / max(1, result.served.requests) * 1e6:7.0f} µs CPU each, {result.utilisation:.2f} cores"
        )
    if result.load.errors:
        text += f"  {result.load.errors} FAILED"
    return text


def _warm_up(target: Target, upstream: Engines) -> None:
    for phase in PHASES:
        sample(target, upstream, phase, WARM_UP_SECONDS / phase.share)


def _interleaved(targets: list[Target], upstream: Engines, plan: Plan) -> dict[str, list[Repeat]]:
    """Every repeat starts with another target, so that none is always first."""
    progress = Progress(plan.repeats * len(targets) * len(PHASES))
    repeats: dict[str, list[Repeat]] = {target.name: [] for target in targets}
    for index in range(plan.repeats):
        first = index * len(targets) // plan.repeats
        for target in targets[first:] + targets[:first]:
            taken = []
            for phase in PHASES:
                taken.append(sample(target, upstream, phase, plan.seconds))
                progress.step(f"repeat {index + 1}/{plan.repeats}  {_describe(target, phase, taken[-1])}")
            repeats[target.name].append(Repeat(*taken))
    return repeats


def _measure(plan: Plan, upstream: Engines, progress: Progress) -> dict[str, Row]:
    with contextlib.ExitStack() as stack:
        targets = [Target(ENGINE_ROW, upstream.ports[1], None)]
        for proxy in plan.proxies:
            progress.say(f"starting {proxy.name}")
            target = stack.enter_context(proxy_target(proxy, upstream))
            targets.append(target)
        memory = {target.name: target.resident_mib() for target in targets}
        progress.say("warming up")
        for target in targets:
            _warm_up(target, upstream)
        repeats = _interleaved(targets, upstream, plan)
        return {target.name: summarise(target, repeats[target.name], memory[target.name]) for target in targets}


def execute(plan: Plan) -> Results:
    """Run the plan. Raises SetupError or RuntimeError when something cannot be run."""
    start, progress, curve = time.monotonic(), Progress(0), None
    with engines() as upstream:
        rows = _measure(plan, upstream, progress)
        spillway = next((proxy for proxy in plan.proxies if proxy.name == "spillway"), None)
        if spillway is not None:
            progress.say(f"memory over {plan.memory_streams:,} streams, on a fresh instance")
            curve = memory_over_streams(
                spillway,
                upstream,
                plan.memory_streams,
                lambda streams, mib: progress.say(f"  {streams:6,d} streams  {mib:.1f} MiB"),
            )
    versions = {proxy.name: proxy.version() for proxy in plan.proxies}
    results = Results(plan, versions, rows, curve, time.monotonic() - start)
    (BUILD / "results.json").write_text(
        json.dumps(
            {
                "rows": [asdict(row) for row in rows.values()],
                "memory": curve and curve.points,
                "versions": versions,
            },
            indent=2,
        )
    )
    return results
