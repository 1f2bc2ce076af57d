"""Overview: what goes where, what clients get, how full the pools are."""

from dashboards.grafana import Dashboard, Panel, Query, Row
from dashboards.promql import BASELINE, SPECULATIVE, limit, of, or_zero, per_second, quantile, total

_REQUESTS = "spillway_requests_total"
_DECISIONS = "spillway_route_decisions_total"
_GENERATED = 'kind=~"completion.*"'
_PLACED = 'pool!="none"'


def overview() -> Dashboard:
    """Made for a wall: the first row says whether all is well."""
    return Dashboard(
        name="overview",
        title="Spillway / Overview",
        about="Traffic, latency and load of the pools, and where requests go and why.",
        models="label_values(spillway_inflight, model)",
        rows=(_now(), _load(), _latency(), _endings()),
    )


def _failed() -> str:
    statuses = per_second(_REQUESTS, 'code=~"429|5.."')
    cut = per_second(_REQUESTS, 'ended=~"broken|cut_off"')
    return or_zero(f"sum({statuses} or {cut})")


def _now() -> Row:
    tokens = total("", "spillway_tokens_total", _GENERATED, window="1m")
    return Row(
        "Now",
        (
            Panel(
                "Requests",
                "Requests ended a second, of every kind.",
                (Query(total("", _REQUESTS), "requests"),),
                unit="reqps",
                kind="stat",
                width=4,
            ),
            Panel(
                "Failed",
                "Share of requests that ended with 429 or 5xx, or were broken off.",
                (Query(f"({_failed()}) / {total('', _REQUESTS)}", "failed"),),
                unit="percentunit",
                kind="stat",
                width=4,
                bounds=(0.001, 0.01),
            ),
            Panel(
                "TTFT, p95",
                "95 of 100 requests had their first byte in this time.",
                (Query(quantile(0.95, "", "spillway_ttft_seconds"), "p95"),),
                unit="s",
                kind="stat",
                width=4,
                bounds=(2, 10),
            ),
            Panel(
                "Tokens",
                "Tokens generated a second, counted when their requests end.",
                (Query(tokens, "tokens"),),
                unit="short",
                kind="stat",
                width=4,
                decimals=0,
            ),
            Panel(
                "Speculative pool, full",
                "In-flight requests over the pool's limit: at 100% new requests go to the baseline pool.",
                (Query(_fullness(SPECULATIVE), "full"),),
                unit="percentunit",
                kind="stat",
                width=4,
            ),
            Panel(
                "Waiting",
                "Requests in the queue: both pools are full.",
                (Query(f"sum({of('spillway_queue_depth')})", "waiting"),),
                kind="stat",
                width=4,
                bounds=(1, 32),
            ),
        ),
    )


def _fullness(pool: str) -> str:
    return f"sum({of('spillway_inflight', pool)}) / sum({limit(pool)})"


def _load() -> Row:
    return Row(
        "Load and placement",
        (
            _against_limit("speculative", SPECULATIVE, "Over it, new requests go to the baseline pool."),
            _against_limit("baseline", BASELINE, "max_inflight x ready replicas; over it, requests overflow or queue."),
            Panel(
                "Placements by reason",
                "Where requests were sent and why. overflow, pool_down and failover mean trouble; engine_load: "
                "engines hold requests that came past the gateway.",
                (Query(total("pool, reason", _DECISIONS), "{{pool}} {{reason}}"),),
                unit="reqps",
                stack="normal",
            ),
            Panel(
                "Share of each pool",
                "Of all placements.",
                (Query(total("pool", _DECISIONS), "{{pool}}"),),
                unit="reqps",
                stack="percent",
            ),
            Panel(
                "Generated tokens a second",
                "By pool. Counted when a request ends, so long streams show as steps.",
                (Query(total("pool", "spillway_tokens_total", _GENERATED), "{{pool}}"),),
                stack="normal",
            ),
            Panel(
                "Queue",
                "Requests that wait as both pools are full, and those refused: the queue was full too, or the wait "
                "was in vain.",
                (
                    Query(f"sum by (model) ({of('spillway_queue_depth')})", "waiting for {{model}}"),
                    Query(_rejected(), "refused a second"),
                ),
            ),
        ),
    )


def _rejected() -> str:
    rejected = per_second(_REQUESTS, 'code="429"', 'ended="refused"')
    return or_zero(f"sum({rejected})")


def _against_limit(name: str, pool: str, about: str) -> Panel:
    return Panel(
        f"In flight, {name} pool",
        f"Requests in flight against the pool's limit. {about} Past the gateway: what its engines hold beside.",
        (
            Query(f"sum by (pool) ({of('spillway_inflight', pool)})", "{{pool}}"),
            Query(f"sum({limit(pool)})", "limit"),
            Query(f"max by (pool) ({of('spillway_outside_inflight', pool)})", "{{pool}}, past the gateway"),
        ),
    )


def _latency() -> Row:
    return Row(
        "What clients get",
        (
            _quantiles(
                "Time to first token", "spillway_ttft_seconds", "Queueing and failed attempts included.", exemplars=True
            ),
            _quantiles("Time between tokens", "spillway_inter_token_seconds", "The mean of each stream."),
            _quantiles(
                "Duration of requests", "spillway_request_duration_seconds", "From arrival to end.", exemplars=True
            ),
            Panel(
                "Requests by pool",
                "Ended a second. `none`: refused before a pool was chosen.",
                (Query(total("pool", _REQUESTS), "{{pool}}"),),
                unit="reqps",
                stack="normal",
            ),
        ),
    )


def _quantiles(title: str, histogram: str, about: str, *, exemplars: bool = False) -> Panel:
    return Panel(
        title,
        f"Median, p95 and p99 by pool. {about}",
        tuple(
            Query(
                quantile(share, "pool", histogram, _PLACED),
                f"{{{{pool}}}} p{share * 100:g}",
                exemplars=exemplars and share == max(_SHARES),
            )
            for share in _SHARES
        ),
        unit="s",
    )


_SHARES = (0.5, 0.95, 0.99)


def _endings() -> Row:
    return Row(
        "How requests end",
        (
            Panel(
                "Endings",
                "finished: answered in full, whatever the status. refused and failed: by the gateway. broken: by the "
                "engine, after the first byte. cancelled: the client left.",
                (Query(total("ended", _REQUESTS), "{{ended}}"),),
                unit="reqps",
                stack="normal",
            ),
            Panel(
                "Statuses",
                "As clients got them; 499 left before there was one.",
                (Query(total("code", _REQUESTS), "{{code}}"),),
                unit="reqps",
                stack="normal",
            ),
        ),
    )
