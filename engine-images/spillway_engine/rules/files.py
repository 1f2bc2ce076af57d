"""Whether model and drafter are there, and fit each other."""

from collections.abc import Iterator, Mapping
from typing import Any

from spillway_engine.node import NodeError, model_config
from spillway_engine.render import Launch
from spillway_engine.rules.finding import Finding, refuse, warn


def findings(launch: Launch) -> Iterator[Finding]:
    """Paths, the target's kind of attention, and the drafter's vocabulary. Names on a model hub are not looked at."""
    target: dict[str, Any] = {}
    drafter: dict[str, Any] = {}
    for flag, name, into in (
        ("model-path", "model-path", target),
        ("speculative-draft-model-path", "drafter-path", drafter),
    ):
        path = str(launch.flags.get(flag, ""))
        if not path.startswith("/"):
            continue
        try:
            into.update(model_config(path))
        except NodeError as error:
            yield refuse(name, f"{error}: mount the folder, or name another")
    if target:
        yield from _attention(launch, target)
    if target and drafter:
        yield from _fit(target, drafter)


def _attention(launch: Launch, target: Mapping[str, Any]) -> Iterator[Finding]:
    found, wanted = "mla" if target.get("kv_lora_rank") else "mha", launch.profile.base.attention
    if found != wanted:
        yield refuse(
            "model-attention",
            f"the model's attention is {found}, and profile {launch.profile.name} is for {wanted}: "
            "take the profile of another model",
        )


def _fit(target: Mapping[str, Any], drafter: Mapping[str, Any]) -> Iterator[Finding]:
    # It may propose from fewer tokens (draft_vocab_size, with a table to the target's); its vocabulary may not differ.
    ours, theirs = target.get("vocab_size"), drafter.get("vocab_size")
    if ours != theirs:
        yield refuse(
            "drafter-vocabulary",
            f"the drafter's vocabulary has {theirs} tokens and the model's {ours}: it was trained for another model",
        )
    hidden = drafter.get("target_hidden_size") or drafter.get("hidden_size")
    if hidden != target.get("hidden_size"):
        yield warn(
            "drafter-hidden-size",
            f"the drafter reads states of {hidden} numbers and the model's have {target.get('hidden_size')}",
        )
