"""Engines: SGLang's own metrics by pool, as the chart's PodMonitor scrapes them."""

from dashboards.grafana import Dashboard, Panel, Query, Row

_WHERE = "spillway_model, spillway_pool"
_LEGEND = "{{spillway_pool}}"
_CHOSEN = 'spillway_model=~"$model"'


def engines() -> Dashboard:
    """`spillway_model` and `spillway_pool` are labels of the engines' pods (podTargetLabels of the PodMonitor)."""
    return Dashboard(
        name="engines",
        title="Spillway / Engines",
        about="SGLang's metrics by pool. Engines need --enable-metrics; the chart sets it for those that it starts.",
        models="label_values(sglang:num_running_reqs, spillway_model)",
        rows=(_load(), _speed(), _cache()),
    )


def of(metric: str, by: str = "sum") -> str:
    """A gauge by model and pool."""
    return f"{by} by ({_WHERE}) ({metric}{{{_CHOSEN}}})"


def rate(metric: str) -> str:
    """A counter's rate by model and pool."""
    return f"sum by ({_WHERE}) (rate({metric}{{{_CHOSEN}}}[$__rate_interval]))"


def _load() -> Row:
    return Row(
        "Load",
        (
            Panel("Running", "Requests in the engines' batches.", (Query(of("sglang:num_running_reqs"), _LEGEND),)),
            Panel(
                "Queued in engines",
                "Requests that an engine has taken and not begun. Above 0 for long: max_inflight is more than the "
                "engines can batch.",
                (Query(of("sglang:num_queue_reqs"), _LEGEND),),
            ),
            Panel(
                "Gateway's count against the engines'",
                "In flight at the gateways less running and queued in the engines. Far from 0 for long: somebody calls "
                "the engines past the gateway, or requests are stuck.",
                (Query(_difference(), "{{pool}}"),),
            ),
            Panel(
                "Retracted requests",
                "Requests thrown out of the batch for want of KV cache, and begun anew.",
                (Query(of("sglang:num_retracted_reqs"), _LEGEND),),
            ),
        ),
    )


def _difference() -> str:
    inside = " + ".join(
        f'sum by (model, pool) (label_replace(label_replace({metric}{{{_CHOSEN}}}, "model", "$1", "spillway_model", '
        f'"(.*)"), "pool", "$1", "spillway_pool", "(.*)"))'
        for metric in ("sglang:num_running_reqs", "sglang:num_queue_reqs")
    )
    return f'sum by (model, pool) (spillway_inflight{{model=~"$model"}}) - ({inside})'


def _speed() -> Row:
    ttft = f"sum by (le, {_WHERE}) (rate(sglang:time_to_first_token_seconds_bucket{{{_CHOSEN}}}[$__rate_interval]))"
    return Row(
        "Speed",
        (
            Panel(
                "Generation throughput",
                "Tokens a second, as the engines measure it.",
                (Query(of("sglang:gen_throughput"), _LEGEND),),
            ),
            Panel(
                "Tokens generated a second",
                "From the engines' counters; the gauge beside it lags by its logging interval.",
                (Query(rate("sglang:generation_tokens_total"), _LEGEND),),
            ),
            Panel(
                "Prompt tokens a second",
                "Tokens prefilled.",
                (Query(rate("sglang:prompt_tokens_total"), _LEGEND),),
            ),
            Panel(
                "Time to first token, p95",
                "As the engines measure it: without the gateway's queue and the network.",
                (Query(f"histogram_quantile(0.95, {ttft})", _LEGEND),),
                unit="s",
            ),
        ),
    )


def _cache() -> Row:
    return Row(
        "Memory",
        (
            Panel(
                "KV cache in use",
                "Of the tokens that fit. A drafter takes some of the memory, so the speculative pool fits fewer.",
                (Query(of("sglang:token_usage", "avg"), _LEGEND),),
                unit="percentunit",
                line=0.9,
            ),
            Panel(
                "Prefix cache hit rate",
                "Share of prompt tokens that were in the cache.",
                (Query(of("sglang:cache_hit_rate", "avg"), _LEGEND),),
                unit="percentunit",
            ),
        ),
    )
