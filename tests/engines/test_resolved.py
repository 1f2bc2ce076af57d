"""What the profiles resolve to, by the record of the real SGLang: `make test-sglang` asks it anew.

The record has the arguments that were resolved. So a profile that was changed since, or a fact that a rule relies on
and that was not asked, is found here, without SGLang.
"""

from typing import Any

import pytest

from spillway_engine import load_surface
from spillway_engine.surface import PINNED
from tests.sglang import recorded
from tests.sglang.cases import Case, cases

RECORD = recorded.load()
FOUND: dict[str, Any] = RECORD["cases"]
EACH = pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)


def test_it_was_the_pinned_version() -> None:
    assert RECORD["version"] == PINNED


@pytest.mark.parametrize("question", recorded.questions(), ids=lambda it: it["name"])
def test_what_is_launched_now_is_what_was_resolved(question: dict[str, Any]) -> None:
    assert FOUND[question["name"]]["arguments"] == recorded.portable(question["arguments"]), "run make test-sglang"


@EACH
def test_what_was_asked_for_is_in_force(case: Case) -> None:
    resolved = FOUND[case.name]["resolved"]
    surface = load_surface(PINNED)
    for flag, value in case.launch().flags.items():
        field = surface.options[flag].dest
        if field in resolved:
            assert str(resolved[field]) == str(value), flag


@EACH
def test_limits_are_those_of_the_gateway(case: Case) -> None:
    resolved = FOUND[case.name]["resolved"]
    assert resolved["max_running_requests"] == 128
    assert resolved["cuda_graph_config.decode.max_bs"] == 128
    assert resolved["disable_overlap_schedule"] is False
    assert resolved["disable_radix_cache"] is False


@EACH
def test_what_is_given_for_a_node_takes_effect_there(case: Case) -> None:
    flags, effective = case.launch().flags, FOUND[case.name]["effective"]
    assert effective["flashinfer_allreduce_fusion"] == ("flashinfer-allreduce-fusion-backend" in flags)
    assert effective["torch_symm_mem"] == ("enable-torch-symm-mem" in flags)


@EACH
def test_nothing_is_switched_off(case: Case) -> None:
    # int4 experts run on TensorRT-LLM's kernels there, which don't fuse the shared expert: a choice, and no loss.
    expected = "FlashInfer TRTLLM MoE is enabled. --disable-shared-experts-fusion is automatically set."
    kimi_on_sm100 = case.name.startswith("kimi") and case.architecture == "sm100"
    assert FOUND[case.name]["warnings"] == ([expected] if kimi_on_sm100 else [])


def _fact(beginning: str) -> dict[str, Any]:
    [found] = [it for name, it in FOUND.items() if name.startswith(beginning)]
    assert isinstance(found, dict)
    return found


def test_the_rules_rest_on_facts() -> None:
    assert "ambiguous option: --cuda-graph-max-bs" in _fact("the launch line of the first")["error"]
    assert "unrecognized arguments" in _fact("an option that does not exist")["error"]
    assert "invalid choice: 'flash'" in _fact("an attention back end")["error"]
    assert "Unknown speculative algorithm" in _fact("an algorithm")["error"]
    assert _fact("the beginning of an option")["resolved"]["max_running_requests"] == 7
    assert _fact("speculation takes 48")["resolved"]["max_running_requests"] == 48
    adaptive = _fact("adaptive is switched off")
    assert adaptive["resolved"]["speculative_adaptive"] is False
    assert "speculative_adaptive disabled: speculative_eagle_topk=4" in adaptive["warnings"][0]
    assert _fact("with topk 1")["resolved"]["speculative_num_draft_tokens"] == 4
    assert _fact("more draft tokens")["resolved"]["speculative_num_draft_tokens"] == 64
    assert "got attention_backend='trtllm_mla'" in _fact("the default attention of sm100")["error"]
    assert _fact("FlashInfer's MLA")["resolved"]["attention_backend"] == "flashinfer"
    assert _fact("MLA on sm120")["resolved"]["attention_backend"] == "triton"
    inert = _fact("fused all-reduce")
    assert inert["resolved"]["enable_torch_symm_mem"] is True
    assert inert["warnings"] == []
    assert inert["effective"] == {"flashinfer_allreduce_fusion": False, "torch_symm_mem": False}
