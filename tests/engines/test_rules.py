"""What would be refused, wrong or without effect is found, by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from spillway_engine import Architecture, Launch, Level, Overrides, examine, load_profile, render
from spillway_engine.node import Node

MODELS = Path(__file__).parents[1] / "sglang" / "models"
SM120 = Node(("12.0",) * 8, "580.95.05", ("NVIDIA RTX PRO 6000 Blackwell Server Edition",) * 8, 64.0)
FUSION = {"flashinfer_allreduce_fusion_backend": "auto"}
H200 = Node(("9.0",), "580.159.04", ("NVIDIA H200",), 64.0)


def launch(name: str, architecture: Architecture, env: dict[str, str] | None = None, **flags: Any) -> Launch:
    """A profile with the models of the tests and with these flags, written with underscores."""
    profile = load_profile(name)
    drafter = profile.speculation
    return render(
        profile,
        architecture=architecture,
        overrides=Overrides(
            model_path=flags.pop("model_path", str(MODELS / Path(profile.base.model_path).name)),
            draft_model_path=flags.pop("drafter", str(MODELS / Path(drafter.draft_model_path).name))
            if drafter
            else None,
            gpus=flags.pop("gpus", None),
            flags={name.replace("_", "-"): value for name, value in flags.items()},
            env=env or {},
        ),
    )


def found(it: Launch, node: Node | None = None) -> dict[str, Level]:
    """The findings by name."""
    return {finding.name: finding.level for finding in examine(it, node)}


@pytest.mark.parametrize("kind", ["baseline", "eagle3-tree", "eagle3-chain", "eagle3-adaptive"])
def test_profiles_fit_their_nodes(kind: str) -> None:
    assert found(launch(f"kimi-k2.5/{kind}", Architecture.SM120), SM120) == {}
    assert found(launch(f"llama-3.1-8b/{kind}", Architecture.SM90), H200) == {}


@pytest.mark.parametrize(
    ("name", "architecture", "flags", "finding", "level"),
    [
        ("kimi-k2.5/baseline", "sm120", FUSION, "allreduce-fusion-inert", "warn"),
        ("llama-3.1-8b/baseline", "sm90", FUSION, "allreduce-fusion-inert", "warn"),
        ("kimi-k2.5/baseline", "sm120", {"enable_torch_symm_mem": True}, "symmetric-memory-inert", "warn"),
        ("kimi-k2.5/baseline", "sm90", {"gpus": 5}, "symmetric-memory-inert", "warn"),
        ("kimi-k2.5/eagle3-tree", "sm120", {"max_running_requests": None}, "running-requests-default", "refuse"),
        ("kimi-k2.5/baseline", "sm120", {"max_running_requests": "48"}, "cuda-graph-unused", "warn"),
        ("kimi-k2.5/baseline", "sm120", {"cuda_graph_max_bs_decode": "64"}, "cuda-graph-exceeded", "warn"),
        ("kimi-k2.5/eagle3-tree", "sm120", {"attention_backend": "flashinfer"}, "flashinfer-mla-tree", "refuse"),
        ("kimi-k2.5/eagle3-tree", "sm100", {"attention_backend": "trtllm_mla"}, "tree-backend", "refuse"),
        ("kimi-k2.5/eagle3-tree", "sm100", {"attention_backend": None}, "tree-backend-default", "warn"),
        ("kimi-k2.5/eagle3-tree", "sm120", {"speculative_num_draft_tokens": "22"}, "draft-tokens", "refuse"),
        ("kimi-k2.5/eagle3-chain", "sm120", {"speculative_num_draft_tokens": "16"}, "draft-tokens-adjusted", "warn"),
        ("kimi-k2.5/eagle3-chain", "sm120", {"speculative_num_steps": None}, "drafts-incomplete", "refuse"),
        ("kimi-k2.5/eagle3-adaptive", "sm120", {"speculative_eagle_topk": "4"}, "adaptive-off", "refuse"),
        ("kimi-k2.5/eagle3-adaptive", "sm120", {"speculative_num_steps": "7"}, "adaptive-steps", "refuse"),
        ("kimi-k2.5/eagle3-adaptive", "sm120", {"speculative_adaptive_config": "/x"}, "adaptive-config", "refuse"),
    ],
)  # fmt: skip
def test_what_would_go_wrong_without_a_word_is_named(
    name: str, architecture: str, flags: dict[str, Any], finding: str, level: str
) -> None:
    assert found(launch(name, Architecture(architecture), **flags))[finding] == level


def test_the_same_is_fine_where_it_works() -> None:
    assert "flashinfer-mla-tree" not in found(launch("llama-3.1-8b/eagle3-tree", Architecture.SM90))
    chain = launch("kimi-k2.5/eagle3-chain", Architecture.SM120, attention_backend="flashinfer")
    assert found(chain, SM120) == {}
    most = launch("kimi-k2.5/eagle3-tree", Architecture.SM120, speculative_num_draft_tokens="21")
    assert found(most) == {}


@pytest.mark.parametrize(
    ("architecture", "gpus", "finding"),
    [("sm120", 6, "pcie-allreduce-inert"), ("sm90", 8, "pcie-allreduce-nvlink"), ("sm120", 8, None)],
)
def test_the_all_reduce_over_pcie_is_for_pcie(architecture: str, gpus: int, finding: str | None) -> None:
    env = {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}
    it = launch("kimi-k2.5/baseline", Architecture(architecture), env, gpus=gpus)
    assert set(found(it)) == ({finding} if finding else set())


@pytest.mark.parametrize(
    ("node", "finding"),
    [
        (Node(("12.0",) * 4, "580.1", ("x",) * 4, 64.0), "gpu-count"),
        (Node((), "", (), 64.0), "gpu-count"),
        (Node(("8.0",) * 8, "580.1", ("NVIDIA A100",) * 8, 64.0), "gpu-architecture"),
        (Node(("12.0",) * 7 + ("9.0",), "580.1", ("x",) * 8, 64.0), "gpu-mixed"),
        (Node(("12.0",) * 8, "570.86.15", ("x",) * 8, 64.0), "driver"),
        (Node(("12.0",) * 8, "580.1", ("x",) * 8, 0.0625), "shared-memory"),
    ],
)
def test_a_node_that_the_profile_is_not_for_is_refused(node: Node, finding: str) -> None:
    assert found(launch("kimi-k2.5/baseline", Architecture.SM120), node) == {finding: "refuse"}


def test_models_and_drafters_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    def check(**paths: Any) -> dict[str, Level]:
        return found(launch("kimi-k2.5/eagle3-tree", Architecture.SM120, **paths), SM120)

    assert check(model_path="/absent") == {"model-path": "refuse"}
    assert check(drafter="/absent") == {"drafter-path": "refuse"}
    assert check(model_path="organisation/on-a-hub") == {}
    (tmp_path / "config.json").write_text("{")
    assert check(drafter=str(tmp_path)) == {"drafter-path": "refuse"}
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 128256, "hidden_size": 7168}))
    assert check(drafter=str(tmp_path)) == {"drafter-vocabulary": "refuse"}
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 163840, "hidden_size": 4096}))
    assert check(drafter=str(tmp_path)) == {"drafter-hidden-size": "warn"}
    assert check(model_path=str(MODELS / "llama-3.1-8b-instruct"), drafter=str(MODELS / "llama-3.1-8b-eagle3")) == {
        "model-attention": "refuse"
    }


def test_findings_say_what_to_do() -> None:
    node = Node(("12.0",) * 4, "580.1", ("x",) * 4, 64.0)
    [finding] = examine(launch("kimi-k2.5/baseline", Architecture.SM120), node)
    assert str(finding) == "refuse: gpu-count: tensor parallelism over 8 GPUs, and 4 are here: give --gpus=4"
