"""Values that would go wrong later are refused, and the message says what to do."""

import pytest

from tests.chart.helm import Values, example, plain, refusal, small


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"modelPath": ""}, "needs engine.profile.name or engine.modelPath to start engines, or `discovery`"),
        ({"speculativeFlags": []}, "engine.speculativeFlags is empty, so it would be a baseline pool"),
        ({"flags": ["--speculative-algorithm=EAGLE3"]}, "move it to engine.speculativeFlags"),
        ({"flags": ["--port=1"]}, "the chart writes --port=1 itself"),
        ({"speculativeFlags": ["--tp", "4"]}, "the chart writes --tp itself"),
        ({"image": {"tag": ""}}, "engine.image needs a tag or a digest"),
    ],
)
def test_a_profile_that_would_go_wrong_is_refused(engine: Values, message: str) -> None:
    said = refusal(plain(**engine))
    assert message in said
    assert "models, llama-3.1-8b, speculative pool" in said or "baseline pool" in said


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"kind": "vllm"}, "engine.profile is for SGLang"),
        ({"flags": ["--attention-backend=triton"]}, "go without a profile: use engine.profile.set"),
        ({"speculativeFlags": ["--speculative-num-steps=1"]}, "go without a profile: use engine.profile.set"),
        (
            {"profile": {"name": "llama-3.1-8b", "set": ["speculative-num-steps=1"]}},
            "speculative-num-steps=1 in engine.profile.set would be for both pools: move it to",
        ),
    ],
)
def test_what_does_not_go_with_a_profile_is_refused(engine: Values, message: str) -> None:
    assert message in refusal(small(**engine))


def test_pools_that_would_go_wrong_are_refused() -> None:
    assert "needs `discovery`, as engines.enabled is false" in refusal(
        example("small") | {"engines": {"enabled": False}}
    )
    values = example("small")
    values["models"][0]["pools"]["baseline"] = {"engine": "vllm"}
    assert "`engine` goes with `discovery`" in refusal(values)
    values = example("small")
    values["models"].append(values["models"][0] | {"name": "Llama_3.1 8b".replace(" ", "-"), "aliases": []})
    assert '"llama-3.1-8b" and "Llama_3.1-8b" would both be named "llama-3-1-8b"' in refusal(values)


def _with_policy(values: Values, policy: Values) -> Values:
    values["models"][0]["policy"] = policy
    return values


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"kind": "pinned"}, "policy.kind pinned needs policy.pool: set it to speculative or baseline"),
        (
            {"kind": "pinned", "pool": "baseline", "mode": "spill"},
            "policy.mode goes with policy.kind threshold: set that, or remove policy.mode",
        ),
        (
            {"kind": "pinned", "pool": "baseline", "threshold": 5},
            "policy.threshold goes with policy.kind threshold: set that",
        ),
        (
            {"kind": "pinned", "pool": "baseline", "resume_below": 0.5},
            "policy.resume_below goes with policy.kind threshold",
        ),
        (
            {"kind": "pinned", "pool": "baseline", "min_dwell": 0},
            "policy.min_dwell goes with policy.kind threshold: set that",
        ),
        ({"kind": "threshold", "pool": "baseline"}, "policy.pool goes with policy.kind pinned: set that"),
        ({"pool": "baseline"}, "policy.pool goes with policy.kind pinned: set that, or remove policy.pool"),
        ({"kind": "adaptive", "mode": "spill"}, "policy.mode goes with policy.kind threshold: set that"),
        ({"half_life": 5}, "policy.half_life goes with policy.kind adaptive: set that, or remove policy.half_life"),
        (
            {"kind": "adaptive", "fallback": {"threshold": 65}},
            "policy.fallback.threshold is 65, above the 64 requests that a speculative engine takes at once: lower it",
        ),
        (
            {"threshold": 65},
            "policy.threshold is 65, above the 64 requests that a speculative engine takes at once: lower it",
        ),
    ],
)
def test_a_policy_that_the_gateway_would_refuse_is_refused(policy: Values, message: str) -> None:
    assert f"models, llama-3.1-8b: {message}" in refusal(_with_policy(example("small"), policy))


def test_a_pinned_pool_must_exist() -> None:
    values = _with_policy(example("small"), {"kind": "pinned", "pool": "speculative"})
    del values["models"][0]["pools"]["speculative"]
    assert "policy.pool is speculative, which is not in pools" in refusal(values)


def test_a_threshold_above_what_the_pool_takes_says_what_to_raise() -> None:
    assert "or raise engine.maxInflight" in refusal(_with_policy(example("small"), {"threshold": 65}))
    # The threshold that a policy has without saying so.
    assert "policy.threshold is 5, above the 4 requests" in refusal(_with_policy(small(maxInflight=4), {}))
    values = _with_policy(example("small"), {"threshold": 17})
    values["models"][0]["pools"]["speculative"]["max_inflight"] = 16
    assert "above the 16 requests" in refusal(values)
    assert "or raise pools.speculative.max_inflight" in refusal(values)
    values = _with_policy(example("byo-engines"), {"threshold": 129})
    del values["models"][0]["pools"]["speculative"]["max_inflight"]
    assert "above the 128 requests" in refusal(values)
    assert "or raise pools.speculative.max_inflight" in refusal(values)


@pytest.mark.parametrize("ports", [{"adminPort": 8080}, {"port": 9090}, {"port": 7000, "adminPort": 7000}])
def test_the_two_ports_differ(ports: Values) -> None:
    said = refusal(example("small") | {"gateway": ports})
    assert f"gateway.adminPort is {max(ports.values())}, the port for clients as well: choose another" in said


def test_a_model_is_needed() -> None:
    assert "models is empty: list what clients may ask for" in refusal({})
