"""Values that would go wrong later are refused, and the message says what to do."""

import pytest

from tests.chart.helm import Values, example, refusal, small


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"modelPath": ""}, "needs engine.modelPath to start engines, or `discovery`"),
        ({"speculativeFlags": []}, "engine.speculativeFlags is empty, so it would be a baseline pool"),
        ({"flags": ["--speculative-algorithm=EAGLE3"]}, "move it to engine.speculativeFlags"),
        ({"flags": ["--port=1"]}, "the chart writes --port=1 itself"),
        ({"speculativeFlags": ["--tp", "4"]}, "the chart writes --tp itself"),
        ({"image": {"tag": ""}}, "engine.image needs a tag or a digest"),
    ],
)
def test_a_profile_that_would_go_wrong_is_refused(engine: Values, message: str) -> None:
    said = refusal(small(**engine))
    assert message in said
    assert "models, llama-3.1-8b, speculative pool" in said or "baseline pool" in said


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


def test_a_model_is_needed() -> None:
    assert "models is empty: list what clients may ask for" in refusal({})
