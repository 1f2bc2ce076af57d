"""What engines say they hold, read from pages of real ones."""

from pathlib import Path

import pytest

from gateway.config import PoolConfig
from gateway.engines import Reading, UnreadableError, load_advice, load_paths, read_load

PAGES = Path(__file__).parent / "pages"


def page(name: str) -> str:
    return (PAGES / f"{name}.txt").read_text()


def config(engine: str, **engine_load: str) -> PoolConfig:
    pool = {"engine": engine, "discovery": {"static": ["http://a:1"]}, "engine_load": engine_load}
    return PoolConfig.model_validate(pool)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sglang-0.5.23-loads", Reading(3 + 2)),
        ("sglang-0.5.23-metrics", Reading(1 + 2)),
        ("vllm-0.33.0-metrics", Reading(5 + 3 + 3, progress=8)),
    ],
)
def test_real_pages(name: str, expected: Reading) -> None:
    assert read_load(page(name)) == expected


def test_llama_cpp() -> None:
    text = "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 2\nllamacpp:requests_deferred 3\n"
    assert read_load(text) == Reading(5)


def test_priorities_are_a_breakdown_of_the_total() -> None:
    """SGLang with priority scheduling: the total stands under the empty priority."""
    text = "".join(
        f'sglang:num_running_reqs{{priority="{priority}",tp_rank="0"}} {count}\n'
        for priority, count in (("", 5), ("0", 2), ("10", 3))
    )
    assert read_load(text) == Reading(5)


def test_tensor_parallel_ranks_say_the_same_and_data_parallel_ones_do_not() -> None:
    text = "".join(
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}"}} {4 + dp}\n' for dp in (0, 1) for tp in (0, 1, 2)
    )
    assert read_load(text) == Reading(9)


def test_an_idle_engine() -> None:
    assert read_load("sglang:num_running_reqs 0.0\nsglang:num_queue_reqs 0.0\n") == Reading(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>hello</html>",
        '{"error": {"code": 404}}',
        "# HELP vllm:num_requests_running Number of requests\n",
        "vllm:num_requests_running_total 4\n",
        "vllm:num_requests_waiting 4\n",
        "sglang:num_running_reqs many\n",
        "sglang:num_running_reqs\n",
        'sglang:num_running_reqs{tp_rank="0 3\n',
        "sglang:num_running_reqs NaN\n",
        "sglang:num_running_reqs -1\n",
        "sglang:num_running_reqs +Inf\n",
    ],
)
def test_pages_without_a_count(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_load(text)


def test_where_to_look() -> None:
    assert load_paths(config("sglang")) == ("/v1/loads?include=core&format=prometheus", "/metrics")
    assert load_paths(config("vllm")) == ("/metrics",)
    assert load_paths(config("sglang", path="/engine/metrics")) == ("/engine/metrics",)


def test_what_to_do_about_an_engine_that_says_nothing() -> None:
    assert load_advice(config("llamacpp")) == "start the engine with --metrics"
    assert load_advice(config("sglang")) == "start the engine with --enable-metrics"
    assert load_advice(config("openai")) == "set engine_load.path"
    assert load_advice(config("llamacpp", path="/elsewhere")) == "set engine_load.path"
