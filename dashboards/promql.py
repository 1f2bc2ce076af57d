"""Pieces of PromQL that several panels share. `$model` and `$__rate_interval` are Grafana's to fill in."""

MODEL = 'model=~"$model"'
SPECULATIVE = 'pool="speculative"'
BASELINE = 'pool="baseline"'
WINDOW = "$__rate_interval"


def of(metric: str, *matchers: str) -> str:
    """A selector of the models that are chosen."""
    return f"{metric}{{{', '.join((MODEL, *matchers))}}}"


def per_second(metric: str, *matchers: str, window: str = WINDOW) -> str:
    """The rate of a counter."""
    return f"rate({of(metric, *matchers)}[{window}])"


def total(by: str, metric: str, *matchers: str, window: str = WINDOW) -> str:
    """The rate of a counter, summed by these labels; "" sums it all."""
    return f"sum by ({by}) ({per_second(metric, *matchers, window=window)})"


def quantile(share: float, by: str, histogram: str, *matchers: str) -> str:
    """A quantile of a histogram by these labels."""
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({share:g}, {total(labels, f'{histogram}_bucket', *matchers)})"


def limit(pool: str) -> str:
    """A pool's limit over all gateways. Without Redis each has one of its own; with it, each knows the whole."""
    whole = of("spillway_pool_limit", pool)
    shared = f"{whole} / on (job, instance, model) group_left () {of('spillway_gateways')}"
    return f"sum by (model, pool) (({shared}) or {whole})"


def or_zero(expr: str) -> str:
    """0 where there is nothing, as with a counter of failures before the first."""
    return f"({expr}) or vector(0)"
