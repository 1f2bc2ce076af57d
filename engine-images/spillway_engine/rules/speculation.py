"""What goes wrong with speculation without a word from the engine, or only after it has loaded.

Read off SGLang 0.5.23, `arg_groups/speculative_hook.py` and `speculative/adaptive_spec_params.py`, unless said.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from spillway_engine.render import Launch
from spillway_engine.rules.finding import Finding, refuse, warn

_TREE_BACKENDS = ("flashinfer", "fa3", "triton")


def findings(launch: Launch) -> Iterator[Finding]:
    """Limits that change under speculation, trees that a back end can't verify, and adaptive modes that are off."""
    yield from _limits(launch)
    if "speculative-algorithm" in launch.flags:
        yield from _drafts(launch)
        yield from _tree(launch)
        if "speculative-adaptive" in launch.flags:
            yield from _adaptive(launch)


def _limits(launch: Launch) -> Iterator[Finding]:
    requests, graph = _number(launch, "max-running-requests"), _number(launch, "cuda-graph-max-bs-decode")
    if requests is None:
        if "speculative-algorithm" in launch.flags:
            yield refuse(
                "running-requests-default",
                "without max-running-requests SGLang takes 48 requests at once under speculation, and the baseline "
                "pool more: set it for both",
            )
        return
    if graph is not None and graph > requests:
        yield warn(
            "cuda-graph-unused",
            f"CUDA graphs up to a batch of {graph} cost memory, and {requests} requests are the most: lower "
            "cuda-graph-max-bs-decode",
        )
    if graph is not None and graph < requests:
        yield warn(
            "cuda-graph-exceeded",
            f"batches above {graph} run without a CUDA graph, and up to {requests} requests are taken: raise "
            "cuda-graph-max-bs-decode",
        )


def _drafts(launch: Launch) -> Iterator[Finding]:
    steps, topk = _number(launch, "speculative-num-steps"), _number(launch, "speculative-eagle-topk")
    tokens = _number(launch, "speculative-num-draft-tokens")
    if steps is None or topk is None or tokens is None:
        yield refuse(
            "drafts-incomplete",
            "speculative-num-steps, speculative-eagle-topk and speculative-num-draft-tokens are needed: SGLang would "
            "choose for itself, and otherwise in another version",
        )
    elif topk == 1 and tokens != steps + 1:
        yield warn("draft-tokens-adjusted", f"with topk 1 SGLang takes {steps + 1} draft tokens, not {tokens}")
    elif topk > 1 and tokens > (most := 1 + topk + (steps - 1) * topk * topk):
        yield refuse(
            "draft-tokens",
            f"{steps} steps of topk {topk} draft {most} tokens at most, and {tokens} are to be verified: lower "
            "speculative-num-draft-tokens",
        )


def _tree(launch: Launch) -> Iterator[Finding]:
    topk, backend = _number(launch, "speculative-eagle-topk"), launch.flags.get("attention-backend")
    if topk is None or topk == 1:
        return
    if backend is None:
        yield warn(
            "tree-backend-default",
            "attention-backend is left to SGLang, whose choice on SM100 can't verify a tree: name "
            f"one of {', '.join(_TREE_BACKENDS)}",
        )
    elif backend not in _TREE_BACKENDS:
        yield refuse("tree-backend", f"{backend} can't verify a tree: {', '.join(_TREE_BACKENDS)} can, or take topk 1")
    elif backend == "flashinfer" and launch.profile.base.attention == "mla":
        # layers/attention/flashinfer_mla_backend.py makes the mask and does not hand it to plan().
        yield refuse(
            "flashinfer-mla-tree",
            "FlashInfer's MLA kernel is not given the tree's mask, so that drafts are verified as if each followed "
            "the one before it, and answers differ from the baseline's: take attention-backend triton, or topk 1",
        )


def _adaptive(launch: Launch) -> Iterator[Finding]:
    topk, steps = _number(launch, "speculative-eagle-topk"), _number(launch, "speculative-num-steps")
    if topk is not None and topk > 1:
        yield refuse("adaptive-off", f"with topk {topk} SGLang switches speculative-adaptive off: take topk 1")
    if path := launch.flags.get("speculative-adaptive-config"):
        try:
            tiers = json.loads(Path(str(path)).read_text())
            candidates = {step for tier in tiers.values() for step in tier["candidate_steps"]}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            yield refuse("adaptive-config", f"{path}: {error!r}: it has to map batch sizes to candidate_steps")
            return
        if steps not in candidates:
            yield refuse(
                "adaptive-steps",
                f"speculative-num-steps is {steps}, which no tier of {Path(str(path)).name} has: "
                f"take one of {', '.join(map(str, sorted(candidates)))}",
            )


def _number(launch: Launch, name: str) -> int | None:
    value = launch.flags.get(name)
    return None if value is None else int(value)
