"""Writes `docs/metrics.md` from the declared families: `python -m gateway.telemetry.reference > docs/metrics.md`."""

import sys
from collections.abc import Iterator

from gateway.telemetry.families import CHAPTERS, Chapter, Family, Label

_INTRODUCTION = """\
# Metrics

<!-- Generated from gateway/telemetry/families/ by `python -m gateway.telemetry.reference`. -->

`GET /metrics`, in Prometheus' text format, or OpenMetrics if the scraper asks for it. With `admin` in the
configuration it is served there. Durations are seconds.

Requests are counted and measured when they end, placements and retries when they happen. Gauges are computed when they
are scraped. The buckets of histograms are upper bounds; `+Inf` follows them. Retries, broken responses, cancellations
and refusals for want of room are there from the start as 0, so that the first one is a rise.

## Labels

| label | values |
| --- | --- |
| `model` | a name from the configuration, never what a client sent |
| `pool` | `speculative` or `baseline` |
| `replica` | a replica's host and port |
| `code` | the status of HTTP |

`model` and `pool` are `none` for requests that never got so far. A name that no model has is not taken for a label, and
no other label comes from clients. All values of the other labels are listed with their metrics.

## Questions

The share of each pool in the last five minutes, and the reasons:

```promql
sum by (pool, reason) (rate(spillway_route_decisions_total[5m]))
/ on () group_left () sum(rate(spillway_route_decisions_total[5m]))
```

How full the pools are, at one gateway, or at all of them where Redis is configured:

```promql
sum by (model, pool) (spillway_inflight) / max by (model, pool) (spillway_pool_limit)
```

What 95 of 100 requests waited at most for their first byte, by pool:

```promql
histogram_quantile(0.95, sum by (le, model, pool) (rate(spillway_ttft_seconds_bucket[5m])))
```

Tokens a second of one stream, by pool and by the requests that its replica held:

```promql
sum by (model, pool, concurrency) (rate(spillway_stream_tokens_total[1h]))
/ sum by (model, pool, concurrency) (rate(spillway_stream_seconds_total[1h]))
```

The [dashboards](observability.md#dashboards) ask these and more.
"""
# Their values are said once for all.
_EVERYWHERE = frozenset(("model", "pool", "replica", "code"))


def reference() -> str:
    """The whole page."""
    return "\n".join((_INTRODUCTION, *map(_chapter, CHAPTERS)))


def _chapter(chapter: Chapter) -> str:
    lines = [f"## {chapter.title}", ""]
    if chapter.about:
        lines += [chapter.about, ""]
    lines += ["| metric | type | unit | labels | meaning | look at it |", "| --- | --- | --- | --- | --- | --- |"]
    for family in chapter.families:
        labels = ", ".join(f"`{name}`" for name in family.names)
        cells = (f"`{family.name}`", family.kind, family.unit, labels, _meaning(family), family.advice)
        lines.append(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|")
    return "\n".join((*lines, ""))


def _meaning(family: Family) -> str:
    values = (_values(label) for label in family.labels if label.values and label.name not in _EVERYWHERE)
    return " ".join(filter(None, (family.about, *values, family.more, _buckets(family))))


def _values(label: Label) -> str:
    def told() -> Iterator[str]:
        for value, remark in label.values.items():
            yield f"`{value}` ({remark})" if remark else f"`{value}`"

    return f"`{label.name}`: {', '.join(told())}."


def _buckets(family: Family) -> str:
    plain = (f"{bound:.6f}".rstrip("0").rstrip(".") for bound in family.bounds)
    return f"Buckets: {', '.join(plain)}." if family.bounds else ""


if __name__ == "__main__":
    sys.stdout.write(reference())
