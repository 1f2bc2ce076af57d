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
    # Whatever a scraper, Thanos or Mimir labels gateways by is the same on both sides.
    shared = f"{whole} / ignoring (pool) group_left () {of('spillway_gateways')}"
    return f"sum by (model, pool) (({shared}) or {whole})"


def at_limit() -> str:
    """Whether the speculative pool is at its limit, by model and gateway.

    What its engines hold from elsewhere counts, as it does for the policy. In mode `switch`, whether new requests go to
    the baseline pool: then the speculative one empties.
    """
    inflight = f"({of('spillway_shared_inflight', SPECULATIVE)} or {of('spillway_inflight', SPECULATIVE)})"
    held = f"({inflight} + {of('spillway_outside_inflight', SPECULATIVE)} or {inflight})"
    full = f"{held} >= bool ({of('spillway_pool_limit', SPECULATIVE)} > 0)"
    return f"({of('spillway_switch_high')} or ignoring (pool) {full})"


def or_zero(expr: str) -> str:
    """0 where there is nothing, as with a counter of failures before the first."""
    return f"({expr}) or vector(0)"
