"""What pools hold, and what is learned of them: gauges that are computed when scraped."""

from typing import get_args

from gateway.pools import LoadTrouble
from gateway.pools.discovery import Trouble
from gateway.routing import Mode
from gateway.telemetry.families.family import Chapter, Family, one_of
from gateway.telemetry.families.labels import BANDS, MODEL, REPLICA, WHERE

# That a server ends a watch is no failure.
_DISCOVERY_TROUBLES = [trouble for trouble in Trouble if trouble is not Trouble.CLOSED]

INFLIGHT = Family(
    "spillway_inflight",
    "gauge",
    "Requests admitted to the pool and not yet ended.",
    WHERE,
    of="requests",
    advice="always, beside the limit",
)
POOL_LIMIT = Family(
    "spillway_pool_limit",
    "gauge",
    "In-flight requests at which new ones stop going to the pool by choice: threshold x ready replicas for the "
    "speculative pool under the policy threshold, else max_inflight x ready replicas.",
    WHERE,
    of="requests",
    advice="always",
)
READY_REPLICAS = Family(
    "spillway_ready_replicas",
    "gauge",
    "Replicas that take new requests.",
    WHERE,
    of="replicas",
    advice="alert on 0, and on fewer than expected",
)
REPLICA_INFLIGHT = Family(
    "spillway_replica_inflight",
    "gauge",
    "In-flight requests of one replica, named by host and port.",
    (*WHERE, REPLICA),
    of="requests",
    advice="when one replica is slower than its peers",
)
REPLICA_READS = Family(
    "spillway_replica_reads_total",
    "counter",
    "How often bytes came from one replica.",
    (*WHERE, REPLICA),
    of="reads",
    advice="stands still while the replica has requests: it hangs",
)
QUEUE_DEPTH = Family(
    "spillway_queue_depth",
    "gauge",
    "Requests waiting because both pools are full.",
    (MODEL,),
    of="requests",
    advice="above 0 for long: more replicas, or a larger `max_inflight`",
)
SWITCH_HIGH = Family(
    "spillway_switch_high",
    "gauge",
    "Mode switch only: 1 while new requests go to the baseline pool.",
    (MODEL,),
    of="0 or 1",
    advice="to see how often it switches",
)
REDIS_UP = Family(
    "spillway_redis_up",
    "gauge",
    "1 while Redis decides, 0 while the gateway decides by itself with its share of the limits.",
    (MODEL,),
    of="0 or 1",
    advice="alert on 0",
)
GATEWAYS = Family(
    "spillway_gateways",
    "gauge",
    "Gateways that share the model's counts, as last told.",
    (MODEL,),
    of="gateways",
    advice="fewer than run: one does not reach Redis",
)
SHARED_INFLIGHT = Family(
    "spillway_shared_inflight",
    "gauge",
    "Requests in flight over all gateways, as of the last heartbeat; the same from each gateway.",
    WHERE,
    of="requests",
    advice="beside the limit, by `max`",
)
REDIS_WAIT = Family(
    "spillway_redis_wait_seconds",
    "histogram",
    "What a request waited for Redis to decide, answered or given up.",
    (MODEL,),
    advice="above 2 ms: a slow or distant Redis",
    bounds=(0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25),
)
REDIS_FAILURES = Family(
    "spillway_redis_failures_total",
    "counter",
    "Times that Redis failed the gateway, by kind.",
    (
        MODEL,
        one_of(
            "kind",
            ("timeout", "connection", "error", "forgotten"),
            error="it answered with one, such as that it is out of memory",
            forgotten="silent for `expiry_seconds`, or Redis lost its data: the requests here did not count",
        ),
    ),
    of="failures",
    advice="the log has the words",
)
LOCAL_DECISIONS = Family(
    "spillway_local_decisions_total",
    "counter",
    "Decisions that the gateway took because Redis did not.",
    (MODEL,),
    of="decisions",
    advice="how much of the traffic was decided by shares",
)
OUTSIDE_INFLIGHT = Family(
    "spillway_outside_inflight",
    "gauge",
    "Requests that the engines of the ready replicas hold beside those admitted by gateways.",
    WHERE,
    of="requests",
    advice="above 0: somebody calls engines directly",
)
ENGINE_LOAD_AGE = Family(
    "spillway_engine_load_age_seconds",
    "gauge",
    "Since the ready replica that was read least recently was asked for its load.",
    WHERE,
    advice="above `stale_after_seconds`: that replica's load from elsewhere is not seen",
)
ENGINE_LOAD_ERRORS = Family(
    "spillway_engine_load_errors_total",
    "counter",
    "Readings of an engine's own load that failed, by kind.",
    (
        *WHERE,
        one_of("kind", get_args(LoadTrouble), status="any but 200", unreadable="no counts on the page"),
    ),
    of="readings",
    more="The log has the words.",
    advice="`status` and `unreadable` do not heal by themselves",
)
ADAPTIVE_DECISIONS = Family(
    "spillway_adaptive_decisions_total",
    "counter",
    "Placements by how they were decided: by what was learned (adaptive), to learn (exploring), with one pool to "
    "choose from (one_pool), or by the threshold for want of evidence (no_evidence, stale, contradicting).",
    (MODEL, one_of("mode", get_args(Mode))),
    of="placements",
    advice="the share of `exploring` is what learning costs; much of `no_evidence`, `stale` and `contradicting`: "
    "nothing is learned",
)
ADAPTIVE_OBSERVATIONS = Family(
    "spillway_adaptive_observations_total",
    "counter",
    "This gateway's requests that a pool's curve was learned from.",
    WHERE,
    of="requests",
    advice="far below the requests: answers are short, or engines do not count their tokens",
)
ADAPTIVE_EXPECTED = Family(
    "spillway_adaptive_expected_tokens_per_second",
    "gauge",
    "What the latest request was expected to get in each pool.",
    WHERE,
    of="tokens per second",
    advice="beside what requests got",
)
ADAPTIVE_RATE = Family(
    "spillway_adaptive_learned_tokens_per_second",
    "gauge",
    "What was learned that one request gets where its replica holds the most requests of the band, as far as so many "
    "were seen.",
    (*WHERE, one_of("concurrency", BANDS[:-1])),
    of="tokens per second",
    advice="the curves that the policy goes by: beside what streams got",
)
ADAPTIVE_CROSSOVER = Family(
    "spillway_adaptive_crossover",
    "gauge",
    "Requests on a speculative replica from which on the next is worth more elsewhere: on an idle baseline replica, "
    "or, on shared hardware, in the baseline pool as a whole; +Inf: none known.",
    (MODEL,),
    of="requests",
    advice="how it moves with the traffic",
)
ADAPTIVE_EVIDENCE_GATEWAYS = Family(
    "spillway_adaptive_evidence_gateways",
    "gauge",
    "Gateways that the evidence comes from, this one included; 1 while Redis is away. With `redis` only.",
    (MODEL,),
    of="gateways",
    advice="fewer than there are gateways with traffic: they learn apart",
)
DISCOVERY_AGE = Family(
    "spillway_discovery_age_seconds",
    "gauge",
    "Since the API server last confirmed the pool's replicas, by a list, a change or a bookmark.",
    WHERE,
    more="Grows to `resync_seconds` where nothing happens.",
    advice="alert well above `resync_seconds`: new replicas are not found, those known serve",
)
DISCOVERY_ERRORS = Family(
    "spillway_discovery_errors_total",
    "counter",
    "Failed requests to the Kubernetes API server, by kind; what is known keeps serving.",
    (*WHERE, one_of("kind", _DISCOVERY_TROUBLES, expired="410", throttled="429", refused="other 4xx")),
    of="requests",
    more="The log has the words.",
    advice="`forbidden` and `no_credentials` do not heal by themselves",
)

LOAD = Chapter(
    "Load",
    (INFLIGHT, POOL_LIMIT, READY_REPLICAS, REPLICA_INFLIGHT, REPLICA_READS, QUEUE_DEPTH, SWITCH_HIGH),
)
SHARING = Chapter(
    "Counts shared by several gateways",
    (REDIS_UP, GATEWAYS, SHARED_INFLIGHT, REDIS_WAIT, REDIS_FAILURES, LOCAL_DECISIONS),
    "With `redis` in the configuration only: [docs/scaling.md](scaling.md). `spillway_inflight` and\n"
    "`spillway_replica_inflight` stay each gateway's own, so that a sum over gateways is right.",
)
ENGINE_LOAD = Chapter(
    "What engines hold from elsewhere",
    (OUTSIDE_INFLIGHT, ENGINE_LOAD_AGE, ENGINE_LOAD_ERRORS),
    "For pools with `engine_load.enabled` only: [what that does](operations.md#requests-that-bypass-the-gateway).",
)
ADAPTIVE = Chapter(
    "What the policy adaptive does",
    (
        ADAPTIVE_DECISIONS,
        ADAPTIVE_OBSERVATIONS,
        ADAPTIVE_EXPECTED,
        ADAPTIVE_RATE,
        ADAPTIVE_CROSSOVER,
        ADAPTIVE_EVIDENCE_GATEWAYS,
    ),
    "For models with [that policy](policies/adaptive.md) only.",
)
DISCOVERY = Chapter(
    "Discovery in Kubernetes", (DISCOVERY_AGE, DISCOVERY_ERRORS), "For pools with `discovery.kubernetes` only."
)
