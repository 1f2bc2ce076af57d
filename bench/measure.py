"""One proxy under one kind of load, metered; and what follows from the loads together."""

import subprocess
import time
from dataclasses import dataclass
from statistics import median

from bench import meter, wrk
from bench.engine import Counters, Engines

SETTLE_SECONDS = 0.3  # what wrk cut off at its end is given up by the proxy and the engines


@dataclass(frozen=True)
class Phase:
    """A kind of load. `share` is its length as a share of the seconds asked for.

    `think_ms`: the mean of what a connection waits between an answer and its next request, of random length.
    """

    name: str
    stream: bool
    connections: int
    share: float
    think_ms: float = 0.0


# Streams and the light load stay below saturation: a saturated proxy reads several events at once and looks cheaper
# than it is. Under the busy load a proxy is near it, and its requests meet warm caches.
LIGHT = Phase("light", stream=False, connections=16, share=0.5)
BUSY = Phase("busy", stream=False, connections=64, share=0.5)
STREAMED = Phase("streamed", stream=True, connections=64, share=1.0)
PEAK = Phase("peak", stream=False, connections=128, share=0.4)
PHASES = (LIGHT, BUSY, STREAMED, PEAK)


@dataclass(frozen=True)
class Target:
    """Something that answers completions: a proxy, or, with no process, the engine by itself."""

    name: str
    port: int
    process: subprocess.Popen[bytes] | None

    def cpu_seconds(self) -> float:
        """CPU seconds of its process tree."""
        return 0.0 if self.process is None else meter.cpu_seconds(self.process.pid)

    def resident_mib(self) -> float:
        """Resident memory of its process tree in MiB."""
        return 0.0 if self.process is None else meter.resident_mib(self.process.pid)

    def check_running(self) -> None:
        """Raises RuntimeError if its process has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode} during the run")


@dataclass(frozen=True)
class Sample:
    """One phase: the client's view, the engines' count, CPU seconds of the target and of whoever else was running."""

    load: wrk.Load
    served: Counters
    cpu: float
    wall: float
    foreign: float
    stolen: float

    @property
    def utilisation(self) -> float:
        """Cores that the target used."""
        return self.cpu / self.wall

    @property
    def disturbance(self) -> float:
        """Cores that were used by processes outside the benchmark, or taken by the machine's host."""
        return (self.foreign + self.stolen) / self.wall


def sample(target: Target, engines: Engines, phase: Phase, seconds: float) -> Sample:
    """Run one phase. Raises RuntimeError if the load cannot be run or the target ends under it."""
    counted = engines.counters()
    machine, start = meter.machine_clock(), time.monotonic()
    target_cpu, engines_cpu, own_cpu = target.cpu_seconds(), engines.cpu_seconds(), time.process_time()
    try:
        load = wrk.run(
            target.port,
            stream=phase.stream,
            connections=phase.connections,
            seconds=seconds * phase.share,
            think_ms=phase.think_ms,
        )
        time.sleep(SETTLE_SECONDS)
    finally:
        target.check_running()
    used = target.cpu_seconds() - target_cpu
    ours = used + engines.cpu_seconds() - engines_cpu + time.process_time() - own_cpu + load.client_cpu
    wall, now = time.monotonic() - start, meter.machine_clock()
    foreign = max(0.0, now.busy - machine.busy - ours)
    return Sample(load, engines.counters() - counted, used, wall, foreign, now.stolen - machine.stolen)


@dataclass(frozen=True)
class Repeat:
    """The phases of one target, back to back."""

    light: Sample
    busy: Sample
    streamed: Sample
    peak: Sample

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All of them."""
        return self.light, self.busy, self.streamed, self.peak

    @property
    def light_us(self) -> float:
        """CPU per non-streamed request under the light load, in microseconds."""
        return self.light.cpu / max(1, self.light.served.requests) * 1e6

    @property
    def busy_us(self) -> float:
        """CPU per non-streamed request under the busy load, in microseconds."""
        return self.busy.cpu / max(1, self.busy.served.requests) * 1e6

    @property
    def event_us(self) -> float:
        """CPU per relayed event, in microseconds: what streams cost beyond their requests, by events written."""
        beyond = self.streamed.cpu - self.streamed.served.requests * self.light_us / 1e6
        return beyond / max(1, self.streamed.served.events) * 1e6


@dataclass(frozen=True)
class Stat:
    """The median of the repeats, and the lowest and highest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Stat":
        """Of at least one value."""
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Row:
    """All repeats of one target, summed up. Times in microseconds or milliseconds as named, memory in MiB."""

    name: str
    busy_us: Stat | None
    light_us: Stat | None
    event_us: Stat | None
    peak_rate: Stat
    p50_ms: Stat
    p99_ms: Stat
    stream_p50_ms: Stat
    stream_p99_ms: Stat
    utilisation: Stat | None
    memory: tuple[float, float] | None
    errors: int
    disturbance: float


def summarise(target: Target, repeats: list[Repeat], memory_start: float) -> Row:
    """A target's row; reads its memory as it is now."""
    proxied = target.process is not None
    samples = [sample for repeat in repeats for sample in repeat.samples]
    return Row(
        name=target.name,
        busy_us=Stat.of([repeat.busy_us for repeat in repeats]) if proxied else None,
        light_us=Stat.of([repeat.light_us for repeat in repeats]) if proxied else None,
        event_us=Stat.of([repeat.event_us for repeat in repeats]) if proxied else None,
        peak_rate=Stat.of([repeat.peak.load.rate for repeat in repeats]),
        p50_ms=Stat.of([repeat.light.load.p50_ms for repeat in repeats]),
        p99_ms=Stat.of([repeat.light.load.p99_ms for repeat in repeats]),
        stream_p50_ms=Stat.of([repeat.streamed.load.p50_ms for repeat in repeats]),
        stream_p99_ms=Stat.of([repeat.streamed.load.p99_ms for repeat in repeats]),
        utilisation=Stat.of([repeat.streamed.utilisation for repeat in repeats]) if proxied else None,
        memory=(memory_start, target.resident_mib()) if proxied else None,
        errors=sum(sample.load.errors for sample in samples),
        disturbance=max(sample.disturbance for sample in samples),
    )
