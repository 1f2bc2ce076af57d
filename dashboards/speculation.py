"""Speculation: does the speculative pool earn its place at this load, and is the threshold where it should be?"""

from dashboards.grafana import Dashboard, Panel, Query, Row
from dashboards.promql import BASELINE, SPECULATIVE, at_limit, of, or_zero, total
from dashboards.reasons import AT_LIMIT, CHOSEN, GROUPS, LEARNED

_TOKENS, _SECONDS, _EVENTS = (f"spillway_stream_{what}_total" for what in ("tokens", "seconds", "events"))
# The other pool is compared by what it did at the same concurrency within the last hour: under the policy the baseline
# pool seldom works at low load.
_MEMORY = "1h"
_BAND = "concurrency"
_DECISIONS = "spillway_route_decisions_total"


def speculation() -> Dashboard:
    """Its rates are of streams that ended with the engine's own count of tokens."""
    return Dashboard(
        name="speculation",
        title="Spillway / Speculation",
        about="What each pool gives a request at each level of concurrency, and what the other would have given.",
        models="label_values(spillway_inflight, model)",
        rows=(_verdict(), _by_concurrency(), _threshold(), _adaptive(), _drafts()),
    )


def rate(by: str, pool: str, window: str = _MEMORY) -> str:
    """Tokens a second of one stream, the mean by these labels, each second of streaming weighing the same.

    A series that has not risen since it was first scraped is left out: of nothing over nothing, a sum would be nothing.
    """
    return f"({total(by, _TOKENS, pool, window=window)} / ({total(by, _SECONDS, pool, window=window)} > 0))"


def gain(by: str) -> str:
    """The speculative pool's rate over the baseline's at the same concurrency."""
    return f"({rate(by, SPECULATIVE)} / {rate(by, BASELINE)})"


def _elsewhere(pool: str, other: str) -> str:
    """Tokens a second that the streams of one pool would have had in the other, at the same concurrency."""
    seconds = total(f"model, {_BAND}", _SECONDS, pool)
    return f"sum({seconds} * on (model, {_BAND}) {rate(f'model, {_BAND}', other)})"


def _here(pool: str, other: str) -> str:
    """The tokens a second that they had, where the other pool's rate is known."""
    tokens = total(f"model, {_BAND}", _TOKENS, pool)
    return f"sum({tokens} and on (model, {_BAND}) {rate(f'model, {_BAND}', other)})"


def crossover() -> str:
    """The highest concurrency of a replica at which the speculative pool was not slower."""
    pays = f"({gain(f'model, {_BAND}')} >= bool 1)"
    upper = f"max by ({_BAND}) (spillway_concurrency_upper)"
    return f"max by (model) ({pays} * on ({_BAND}) group_left () {upper})"


def threshold() -> str:
    """The limit of the speculative pool for each of its replicas."""
    limit, ready = of("spillway_pool_limit", SPECULATIVE), of("spillway_ready_replicas", SPECULATIVE)
    return f"max by (model) ({limit} / ({ready} > 0))"


def _verdict() -> Row:
    paid = f"{_here(SPECULATIVE, BASELINE)} / {_elsewhere(SPECULATIVE, BASELINE)}"
    return Row(
        "Does it pay?",
        (
            Panel(
                "Gain of the speculative pool",
                "Tokens that its streams got, over what the baseline pool gave at the same concurrency within the last "
                "hour. Below 1, speculation costs.",
                (Query(paid, "gain"),),
                kind="stat",
                width=6,
                decimals=2,
            ),
            Panel(
                "A stream in the speculative pool",
                "Tokens a second of one stream.",
                (Query(rate("", SPECULATIVE, "5m"), "tokens a second"),),
                kind="stat",
                width=6,
                decimals=1,
            ),
            Panel(
                "A stream in the baseline pool",
                "Tokens a second of one stream.",
                (Query(rate("", BASELINE, "5m"), "tokens a second"),),
                kind="stat",
                width=6,
                decimals=1,
            ),
            Panel(
                "Tokens an event",
                "Of the speculative pool's streams: near its accept length, if the engine sends an event a step.",
                (Query(f"{total('', _TOKENS, SPECULATIVE)} / {total('', _EVENTS, SPECULATIVE)}", "tokens an event"),),
                kind="stat",
                width=6,
                decimals=2,
            ),
        ),
    )


def _by_concurrency() -> Row:
    by = f"pool, {_BAND}"
    whole = f"{total(by, _TOKENS, window='$__range')} / ({total(by, _SECONDS, window='$__range')} > 0)"
    return Row(
        "At each concurrency (requests of the replica when the stream was placed)",
        (
            Panel(
                "Tokens a second of a stream, by pool and concurrency",
                "Over the whole time range. Where the bars of the pools cross lies the right threshold.",
                (Query(f"sort_desc({whole})", "{{pool}} at {{concurrency}}", instant=True),),
                kind="bargauge",
                decimals=1,
            ),
            Panel(
                "Gain by concurrency",
                "Speculative over baseline at the same concurrency, within the last hour. Above 1, speculation pays.",
                (Query(gain(_BAND), "at {{concurrency}}"),),
                line=1,
                decimals=2,
            ),
            Panel(
                "Speculative pool: tokens a second of a stream",
                "By the replica's concurrency.",
                (Query(rate(_BAND, SPECULATIVE, "$__rate_interval"), "at {{concurrency}}"),),
            ),
            Panel(
                "Baseline pool: tokens a second of a stream",
                "By the replica's concurrency.",
                (Query(rate(_BAND, BASELINE, "$__rate_interval"), "at {{concurrency}}"),),
            ),
            Panel(
                "Streams of the speculative pool, here and there",
                "Tokens a second they had, and what the baseline pool would have given at the same concurrency.",
                (
                    Query(_here(SPECULATIVE, BASELINE), "speculative (had)"),
                    Query(_elsewhere(SPECULATIVE, BASELINE), "baseline (would have given)"),
                ),
            ),
            Panel(
                "Streams of the baseline pool, here and there",
                "Tokens a second they had, and what the speculative pool would have given at the same concurrency.",
                (
                    Query(_here(BASELINE, SPECULATIVE), "baseline (had)"),
                    Query(_elsewhere(BASELINE, SPECULATIVE), "speculative (would have given)"),
                ),
            ),
        ),
    )


def _threshold() -> Row:
    def share(*matchers: str) -> str:
        """Of the placements that the policy was free in."""
        return f"{total('model', _DECISIONS, *matchers)} / {total('model', _DECISIONS, CHOSEN.matcher)}"

    return Row(
        "Is the threshold right?",
        (
            Panel(
                "Threshold against the measured crossover",
                "The crossover is the highest concurrency of a replica at which the speculative pool was not slower, "
                "rounded up to its band; `learned` is that of the policy adaptive. A threshold above it costs; one far "
                "below it leaves speed unused.",
                (
                    Query(crossover(), "crossover of {{model}}"),
                    Query(f"avg by (model) ({of('spillway_adaptive_crossover')} < +Inf)", "learned, {{model}}"),
                    Query(threshold(), "limit of {{model}}"),
                ),
            ),
            Panel(
                "At the limit",
                "Share of time that the speculative pool is at its limit (in mode switch: that new requests go to the "
                "baseline pool), and of the policy's choices that fell on the baseline pool because of it, or by what "
                "adaptive has learned. Near 100% for long: the threshold is too low or the pool too small.",
                (
                    Query(f"avg by (model) (avg_over_time({at_limit()}[5m:15s]))", "{{model}}, time"),
                    Query(share(AT_LIMIT.matcher), "{{model}}, requests"),
                    Query(share(LEARNED.matcher, BASELINE), "{{model}}, requests by what was learned"),
                ),
                unit="percentunit",
            ),
            Panel(
                "How the pool was chosen",
                "Shares of all placements. Those that were forced, or left one pool to choose from, say nothing of the "
                "threshold.",
                tuple(Query(or_zero(total("", _DECISIONS, group.matcher)), group.about) for group in GROUPS),
                unit="reqps",
                stack="percent",
                width=24,
            ),
        ),
    )


def _adaptive() -> Row:
    learned = of("spillway_adaptive_learned_tokens_per_second")
    return Row(
        "What the policy adaptive has learned (empty without it)",
        (
            Panel(
                "Learned: tokens a second of a request, by pool and concurrency",
                "The curves that the policy goes by now: what one request gets where its replica holds so many.",
                (Query(f"sort_desc(avg by (pool, {_BAND}) ({learned}))", "{{pool}} at {{concurrency}}", instant=True),),
                kind="bargauge",
                decimals=1,
            ),
            Panel(
                "Expected of each pool",
                "Tokens a second that the latest request was expected to get in each.",
                (Query(f"avg by (pool) ({of('spillway_adaptive_expected_tokens_per_second')})", "{{pool}}"),),
            ),
            Panel(
                "How the policy decides",
                "adaptive: by what was learned. exploring: to learn. no_evidence, stale and contradicting: by the "
                "threshold, for want of evidence.",
                (Query(total("mode", "spillway_adaptive_decisions_total"), "{{mode}}"),),
                unit="reqps",
                stack="percent",
            ),
            Panel(
                "Requests learned from",
                "A second. Far below the requests: answers are short, or engines do not count their tokens.",
                (Query(total("pool", "spillway_adaptive_observations_total"), "{{pool}}"),),
                unit="reqps",
            ),
            Panel(
                "Gateways learned from",
                "Whose requests the curves rest on, the gateway itself included; 1 while Redis is away, nothing "
                "without it. Fewer than there are with traffic: they learn apart.",
                (Query(f"min by (model) ({of('spillway_adaptive_evidence_gateways')})", "{{model}}"),),
                width=24,
            ),
        ),
    )


def _drafts() -> Row:
    where = "spillway_model, spillway_pool"

    def engine(metric: str) -> str:
        return f'avg by ({where}) ({metric}{{spillway_model=~"$model", spillway_pool="speculative"}})'

    return Row(
        "Drafts",
        (
            Panel(
                "Accept length",
                "Tokens of one step: accepted drafts and one more, by SGLang's own account and as events show it.",
                (
                    Query(engine("sglang:spec_accept_length"), "engines of {{spillway_model}}"),
                    Query(
                        f"{total('model', _TOKENS, SPECULATIVE)} / {total('model', _EVENTS, SPECULATIVE)}",
                        "{{model}}, tokens an event",
                    ),
                ),
                decimals=2,
            ),
            Panel(
                "Accept rate and draft steps",
                "Accepted over proposed drafts, and the steps in use, which vary with --speculative-adaptive.",
                (
                    Query(engine("sglang:spec_accept_rate"), "accepted, {{spillway_model}}"),
                    Query(engine("sglang:spec_num_steps"), "steps, {{spillway_model}}"),
                ),
            ),
        ),
    )
