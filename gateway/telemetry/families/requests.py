"""What becomes of requests: counted when they end, placements and retries when they happen."""

from typing import Literal, get_args

from gateway.routing import Reason
from gateway.telemetry.families.family import Chapter, Family, Label, one_of
from gateway.telemetry.families.labels import BANDS, MODEL, POOL_OR_NONE, WHERE

# How a request ended.
Ended = Literal[
    "finished",
    "refused",
    "failed",
    "broken",
    "cut_off",
    "cancelled_body",
    "cancelled_queued",
    "cancelled_before_first_byte",
    "cancelled_streaming",
]
RetryReason = Literal["connect", "reset", "status"]
TokenKind = Literal["prompt", "completion", "completion_estimated"]
# When a client left.
PHASES = tuple(ended.removeprefix("cancelled_") for ended in get_args(Ended) if ended.startswith("cancelled_"))

_BAND = one_of("concurrency", BANDS)

REQUESTS = Family(
    "spillway_requests_total",
    "counter",
    "Requests ended, by the status that the client got (499: it left before one was sent) and by how they ended, as "
    "the access log says it. A stream that broke or was left keeps its 200.",
    (MODEL, POOL_OR_NONE, Label("code"), one_of("ended", get_args(Ended))),
    of="requests",
    more="[How they ended](operations.md#the-access-log).",
    advice="rates and errors",
)
DECISIONS = Family(
    "spillway_route_decisions_total",
    "counter",
    "Placements, by pool and reason; a request that is attempted again is placed again.",
    (*WHERE, one_of("reason", Reason)),
    of="placements",
    more="[What the reasons mean](../README.md#policies).",
    advice="the share of each pool; `overflow`, `pool_down` and `failover` mean trouble",
)
DURATION = Family(
    "spillway_request_duration_seconds",
    "histogram",
    "From the request's arrival to its end.",
    WHERE,
    advice="capacity",
    bounds=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640),
)
TTFT = Family(
    "spillway_ttft_seconds",
    "histogram",
    "From the request's arrival to the first byte of the engine's body, queueing and failed attempts included.",
    WHERE,
    more="For a response that is not streamed that is nearly the whole duration.",
    advice="what clients wait for; compare models or times with like shares of streaming",
    bounds=(0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 80, 120),
)
INTER_TOKEN = Family(
    "spillway_inter_token_seconds",
    "histogram",
    "Mean time between tokens of one stream: first to last byte, over tokens less one. One value a stream.",
    WHERE,
    advice="what drafting gains: compare the pools",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2),
)
TOKENS = Family(
    "spillway_tokens_total",
    "counter",
    "Tokens, by kind: prompt and completion as the engine counted them; completion_estimated, one for each event, of "
    "streams that ended before the engine could say.",
    (*WHERE, one_of("kind", get_args(TokenKind))),
    of="tokens",
    advice="throughput of each pool",
)
STREAM_TOKENS = Family(
    "spillway_stream_tokens_total",
    "counter",
    "Tokens after the first of each finished stream, by the requests that its replica held when it was placed.",
    (*WHERE, _BAND),
    of="tokens",
    advice="over the seconds: how fast streams are",
)
STREAM_SECONDS = Family(
    "spillway_stream_seconds_total", "counter", "From the first to the last byte of the same streams.", (*WHERE, _BAND)
)
STREAM_EVENTS = Family(
    "spillway_stream_events_total",
    "counter",
    "Events after the first of the same streams.",
    (*WHERE, _BAND),
    of="events",
    advice="tokens over events: near the accept length, where an engine sends an event a step",
)
CONCURRENCY_UPPER = Family(
    "spillway_concurrency_upper",
    "gauge",
    "The most requests of each band of concurrency, as a number to calculate with; 129+ has none.",
    (one_of("concurrency", BANDS[:-1]),),
    of="requests",
)
RETRIES = Family(
    "spillway_retries_total",
    "counter",
    "Attempts repeated elsewhere before the first byte, by the pool that failed and why.",
    (*WHERE, one_of("reason", get_args(RetryReason), status="502, 503, 504")),
    of="attempts",
    advice="a rising rate points to a replica before users notice",
)
BROKEN = Family(
    "spillway_broken_responses_total",
    "counter",
    "Responses that an engine broke off after the first byte.",
    WHERE,
    of="responses",
    advice="alert on it: clients saw these",
)
CANCELLED = Family(
    "spillway_cancelled_total",
    "counter",
    "Requests whose client left, by phase.",
    (one_of("phase", PHASES, body="while it was read"),),
    of="requests",
    advice="`queued` and `before_first_byte` rise when waiting is too long",
)

ENDED = Chapter("Requests", (REQUESTS, DECISIONS, DURATION, TTFT, INTER_TOKEN, TOKENS))
STREAMS = Chapter(
    "What speculation gains",
    (STREAM_TOKENS, STREAM_SECONDS, STREAM_EVENTS, CONCURRENCY_UPPER),
    "Of streams that ended with the engine's own count of tokens. `concurrency` is the number of requests that the\n"
    "replica held when the stream was placed there, itself included, in bands. Tokens over seconds are the rate of\n"
    "one stream: compare the pools at the same concurrency.",
)
FAILURES = Chapter("Failures", (RETRIES, BROKEN, CANCELLED))
