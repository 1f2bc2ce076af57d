"""Gateway: whether the processes themselves are well."""

from dashboards.grafana import Dashboard, Panel, Query, Row
from dashboards.promql import of, or_zero, quantile, total

_PER_REPLICA = f"sum by (model, pool, replica) ({of('spillway_replica_inflight')})"
_STUCK = (
    f"min_over_time({of('spillway_replica_inflight')}[5m]) > 0 "
    f"and increase({of('spillway_replica_reads_total')}[5m]) == 0"
)
# Picks the gateways among all that export process metrics: what else a scraper labels is the same on both sides.
_GATEWAYS = "and spillway_config_last_reload_successful"


def gateway() -> Dashboard:
    """By instance, so that one sick gateway shows."""
    return Dashboard(
        name="gateway",
        title="Spillway / Gateway",
        about="CPU, memory and overhead of the gateways, failures they met, discovery and configuration.",
        models="label_values(spillway_inflight, model)",
        rows=(_process(), _trouble(), _discovery(), _redis()),
    )


def _process() -> Row:
    return Row(
        "Process",
        (
            Panel(
                "CPU",
                "One event loop fills one CPU: above 85% streams begin to lag.",
                (Query(f"rate(process_cpu_seconds_total[$__rate_interval]) {_GATEWAYS}", "{{instance}}"),),
                unit="percentunit",
                line=0.85,
            ),
            Panel(
                "Memory",
                "Resident.",
                (Query(f"process_resident_memory_bytes {_GATEWAYS}", "{{instance}}"),),
                unit="bytes",
            ),
            Panel(
                "Relay overhead",
                "The gateway's own time before the engine has the request, without queueing and connecting.",
                tuple(
                    Query(quantile(share, "", "spillway_relay_overhead_seconds"), f"p{share * 100:g}")
                    for share in (0.5, 0.95, 0.99)
                ),
                unit="s",
            ),
            Panel(
                "Open files",
                "Two for each request in flight, against the most there may be.",
                (
                    Query(f"process_open_fds {_GATEWAYS}", "{{instance}}"),
                    Query(f"min(process_max_fds {_GATEWAYS})", "limit"),
                ),
            ),
        ),
    )


def _trouble() -> Row:
    return Row(
        "Trouble",
        (
            Panel(
                "Retries",
                "Attempts repeated elsewhere before the first byte, by the pool that failed and why.",
                (Query(or_zero(total("pool, reason", "spillway_retries_total")), "{{pool}} {{reason}}"),),
                unit="reqps",
            ),
            Panel(
                "Cancellations",
                "Clients that left, and when. `queued` and `before_first_byte` rise when waiting is too long.",
                (Query(or_zero("sum by (phase) (rate(spillway_cancelled_total[$__rate_interval]))"), "{{phase}}"),),
                unit="reqps",
            ),
            Panel(
                "Broken responses",
                "That engines broke off after the first byte. Clients saw these.",
                (Query(or_zero(total("pool", "spillway_broken_responses_total")), "{{pool}}"),),
                unit="reqps",
            ),
            Panel(
                "Replicas",
                "Those that take new requests.",
                (Query(f"min by (model, pool) ({of('spillway_ready_replicas')})", "{{model}} {{pool}}"),),
            ),
            Panel(
                "The fullest replicas",
                "In-flight requests of the five replicas that hold most. Far more than the rest: a replica is slower "
                "than its peers.",
                (Query(f"topk(5, {_PER_REPLICA})", "{{pool}} {{replica}}"),),
            ),
            Panel(
                "Replicas that send nothing",
                "That have held requests for five minutes without a break, and from which not a byte has come.",
                (Query(or_zero(f"count({_STUCK})"), "replicas"),),
            ),
        ),
    )


def _redis() -> Row:
    return Row(
        "Redis (empty without it)",
        (
            Panel(
                "Decided by Redis",
                "1 while Redis decides for all gateways together; 0 while this one keeps to its share of the limit.",
                (Query(of("spillway_redis_up"), "{{instance}} {{model}}"),),
                width=8,
            ),
            Panel(
                "Wait for Redis",
                "What a request waits to be placed.",
                tuple(
                    Query(quantile(share, "", "spillway_redis_wait_seconds"), f"p{share * 100:g}")
                    for share in (0.5, 0.95, 0.99)
                ),
                unit="s",
                width=8,
            ),
            Panel(
                "Failures of Redis, and decisions without it",
                "A second.",
                (
                    Query(or_zero(total("kind", "spillway_redis_failures_total")), "{{kind}}"),
                    Query(total("", "spillway_local_decisions_total"), "decided locally"),
                ),
                unit="cps",
                width=8,
            ),
        ),
    )


def _discovery() -> Row:
    return Row(
        "Discovery and configuration",
        (
            Panel(
                "Discovery age",
                "Since the API server last confirmed a pool's replicas. Nothing for pools that are listed in the file.",
                (Query(f"max by (model, pool) ({of('spillway_discovery_age_seconds')})", "{{model}} {{pool}}"),),
                unit="s",
            ),
            Panel(
                "Discovery errors",
                "Failed requests to the API server, by kind.",
                (Query(or_zero(total("kind", "spillway_discovery_errors_total")), "{{kind}}"),),
                unit="cps",
            ),
            Panel(
                "Age of the engines' own load",
                "Of the reading that is oldest. Nothing for pools without engine_load.",
                (Query(f"max by (model, pool) ({of('spillway_engine_load_age_seconds')})", "{{model}} {{pool}}"),),
                unit="s",
            ),
            Panel(
                "Engines' own load not read",
                "Readings that failed, by kind.",
                (Query(or_zero(total("kind", "spillway_engine_load_errors_total")), "{{kind}}"),),
                unit="cps",
            ),
            Panel(
                "Configuration",
                "1 while the file on disk is the one that serves.",
                (Query("spillway_config_last_reload_successful", "{{instance}}"),),
                width=8,
            ),
            Panel(
                "Versions",
                "Gateways of each version.",
                (Query("count by (version) (spillway_build_info)", "{{version}}"),),
                width=8,
            ),
            Panel(
                "Log lines dropped",
                "Lost because standard output was not read.",
                (Query("rate(spillway_log_lines_dropped_total[$__rate_interval])", "{{instance}}"),),
                unit="cps",
                width=8,
            ),
        ),
    )
