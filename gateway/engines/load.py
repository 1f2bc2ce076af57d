"""How many requests an engine says that it holds: where each kind says so, and how to read it.

SGLang answers /v1/loads from 0.5.9 on, at once and without a flag; the gauges of its /metrics, which need
--enable-metrics, are written every 40 decoding steps only. vLLM's are written at each step, and not when the last
requests were aborted (vllm-project/vllm#29928), so its count is believed only while it makes tokens. llama.cpp counts
when asked; its /metrics needs --metrics.
"""

from collections.abc import Iterator
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from gateway.config import EngineKind, PoolConfig


class Reading(NamedTuple):
    """Requests running and waiting, and a number that grows while the engine works, if it has one that is needed."""

    requests: int
    progress: float | None = None


class UnreadableError(Exception):
    """A page that does not say how many requests there are; says what is wrong with it."""


class _Names(NamedTuple):
    running: str
    waiting: str
    progress: tuple[str, ...] = ()


_KNOWN = (
    _Names("sglang_num_running_reqs", "sglang_num_waiting_reqs"),
    _Names("sglang:num_running_reqs", "sglang:num_queue_reqs"),
    _Names(
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        ("vllm:prompt_tokens_total", "vllm:generation_tokens_total"),
    ),
    _Names("llamacpp:requests_processing", "llamacpp:requests_deferred"),
)
_WANTED = tuple(name for names in _KNOWN for name in (names.running, names.waiting, *names.progress))
# With data parallelism each rank has a count of its own; ranks of any other kind repeat the same.
_ADDED_UP = ("dp_rank", "engine")

_PATHS: dict[EngineKind, tuple[str, ...]] = {
    "sglang": ("/v1/loads?include=core&format=prometheus", "/metrics"),
    "vllm": ("/metrics",),
    "llamacpp": ("/metrics",),
    "openai": ("/metrics",),
}
_FLAGS: dict[EngineKind, str] = {"sglang": "--enable-metrics", "llamacpp": "--metrics"}


def load_paths(config: PoolConfig) -> tuple[str, ...]:
    """Where an engine of this pool says what it holds, the best first."""
    return (config.engine_load.path,) if config.engine_load.path else _PATHS[config.engine]


def load_advice(config: PoolConfig) -> str:
    """What may be done about an engine that says nothing there."""
    flag = _FLAGS.get(config.engine)
    return f"start the engine with {flag}" if flag and not config.engine_load.path else "set engine_load.path"


def read_load(page: str) -> Reading:
    """Read a page in Prometheus' text format.

    Raises:
        UnreadableError: it is none, or has no counts of a known engine.
    """
    try:
        samples = list(_samples(page))
    except ValueError as error:
        raise UnreadableError(f"is not in Prometheus' text format: {error}") from error
    for names in _KNOWN:
        if any(sample.name == names.running for sample in samples):
            requests = _total(samples, names.running) + _total(samples, names.waiting)
            progress = sum(_total(samples, name) for name in names.progress) if names.progress else None
            return Reading(int(requests), progress)
    raise UnreadableError("has no count of requests that is known")


def _samples(page: str) -> Iterator[Sample]:
    """The samples that matter. Of a page of 90 KB they are a few lines, and parsing all takes the event loop's time."""
    lines = "".join(f"{line}\n" for line in page.splitlines() if line.startswith(_WANTED))
    for family in text_string_to_metric_families(lines):
        for sample in family.samples:
            # SGLang with priorities: the total has an empty label, beside one count for each priority.
            if sample.name in _WANTED and not sample.labels.get("priority"):
                yield sample


def _total(samples: list[Sample], name: str) -> float:
    by_rank: dict[tuple[str, ...], float] = {}
    for sample in samples:
        if sample.name == name:
            if not 0 <= sample.value < 1e15:
                raise UnreadableError(f"says {sample.value:g} for {name}")
            rank = tuple(sample.labels.get(label, "") for label in _ADDED_UP)
            by_rank[rank] = max(by_rank.get(rank, 0.0), sample.value)
    return sum(by_rank.values())
