"""`--out DIR`: the results of a locust run as the sweep writes its own, from every request's sample.

Samples stay in memory without their text and the times between events: some 500 bytes a request. Workers send theirs to
the master with locust's own reports. Their times are on clocks of their own, so all are turned to seconds since 1970.
"""

import platform
import sys
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from loadtest import records, report
from loadtest.client import Outcome, Sample
from loadtest.stats import Generator, by_kind, in_flight, judge_users, quantiles
from loadtest.users import first_model, sampled

LEAST_STEP, MOST_LOOKS = 0.02, 2000  # seconds between looks, and how many
ARM = "spillway"
# What describes a run, of all that the command line has.
OPTIONS = (
    *("num_users", "spawn_rate", "run_time", "tasks", "think"),
    *("max_tokens", "long_tokens", "mix", "pool"),
)
SHAPE_OPTIONS = ("shape", "peak", "duration", "rate", "arrival_users")


class Harvest:
    """Collects samples while locust runs, and writes the files at its end, or sends them to the master that does."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._samples: dict[str, list[Sample]] = defaultdict(list)
        self._late: list[float] = []
        self._cpu = 0.0
        self._model = ""
        self._to_clock = time.time() - time.perf_counter()
        hooks = environment.events
        sampled.add_listener(self._take)
        hooks.request.add_listener(self._note_late)
        hooks.usage_monitor.add_listener(self._note_cpu)
        hooks.test_start.add_listener(self._begin)
        if isinstance(environment.runner, WorkerRunner):
            hooks.report_to_master.add_listener(self._send)
            return
        if isinstance(environment.runner, MasterRunner):
            hooks.worker_report.add_listener(self._receive)
        hooks.quit.add_listener(self._write)

    def _begin(self, **_: Any) -> None:
        self._samples.clear()
        self._late.clear()
        options: Any = self._environment.parsed_options
        self._model = options.model
        if not options.model and not isinstance(self._environment.runner, WorkerRunner):
            with suppress(httpx.HTTPError, LookupError, ValueError):
                self._model = first_model(str(self._environment.host), options.api_key)

    def _take(self, name: str, sample: Sample) -> None:
        options: Any = self._environment.parsed_options
        if not options.out:  # a worker's, whose master has not asked for files
            return

        def shifted(at: float | None) -> float | None:
            return None if at is None else at + self._to_clock

        self._samples[name].append(
            replace(
                sample,
                scheduled=sample.scheduled + self._to_clock,
                end=sample.end + self._to_clock,
                sent=shifted(sample.sent),
                first=shifted(sample.first),
                last=shifted(sample.last),
                gaps=(),
                text="",
            )
        )

    def _note_late(self, request_type: str, response_time: float, **_: Any) -> None:
        if request_type == "LATE":
            self._late.append(response_time / 1000)

    def _note_cpu(self, cpu_usage: float, **_: Any) -> None:
        self._cpu = max(self._cpu, cpu_usage / 100)

    def _send(self, data: dict[str, Any], **_: Any) -> None:
        data["samples"] = {name: [astuple(sample) for sample in some] for name, some in self._samples.items()}
        data["late"], data["most_cpu"] = list(self._late), self._cpu
        self._samples.clear()
        self._late.clear()

    def _receive(self, data: dict[str, Any], **_: Any) -> None:
        for name, some in data.get("samples", {}).items():
            self._samples[name] += [Sample(Outcome(outcome), *rest) for outcome, *rest in some]
        self._late += data.get("late", ())
        self._cpu = max(self._cpu, data.get("most_cpu", 0.0))

    def _write(self, **_: Any) -> None:
        options: Any = self._environment.parsed_options
        folder = Path(options.out)
        found = self._results(options)
        written = records.write(found, folder)
        try:
            written.append(report.write(found, folder))
        except report.MissingLibraryError as error:
            print(f"no report.html: {error}", file=sys.stderr)
        print("\n".join(["", *found.verdict.sentences, *found.verdict.doubts, "", *map(str, written)]))

    def _results(self, options: Any) -> records.Results:
        cells = by_kind(self._samples, Generator(self._cpu, quantiles(self._late)))
        everything = [sample for some in self._samples.values() for sample in some]
        step = max(LEAST_STEP, cells[0].seconds / MOST_LOOKS) if cells else LEAST_STEP
        looks = [
            records.Look(at, ARM, cells[0].level, 0, {pool or "none": count for pool, count in counts.items()}, {})
            for at, counts in in_flight(everything, step)
        ]
        began = min((sample.scheduled for sample in everything), default=time.time())
        return records.Results(
            created=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
            url=str(self._environment.host),
            model=self._model,
            plan={
                name: value
                for name in (*OPTIONS, *(SHAPE_OPTIONS if options.shape else ()))
                if (value := getattr(options, name, None)) not in (None, "", 0)
            },
            arms=[],
            cells=cells,
            looks=looks,
            verdict=judge_users(cells),
            machine=f"generator on {platform.system()} {platform.machine()}, Python {platform.python_version()}",
            kind=records.LOCUST,
        )
