"""A comparison as text and as JSON."""

from dataclasses import asdict
from typing import Any

from spillway_engine.verify.comparison import Divergence, Result


def as_text(result: Result) -> str:
    """For people: what differs first, and how fast each engine was."""
    unit = "token" if result.by_token else "character"
    lines = [
        f"{side.url} ({side.kind}): {side.rate:.1f} tokens/s a request, {side.tokens} tokens"
        + (f", {side.accept_length:.2f} accepted a pass" if side.accept_length else "")
        for side in result.sides
    ]
    ours, theirs = result.sides
    if theirs.rate:
        lines.append(f"the first is {ours.rate / theirs.rate:.2f} times as fast as the second")
    lines += [_divergence(it, unit) for it in result.divergences]
    same = result.prompts - len(result.divergences)
    ties = sum(it.tie for it in result.divergences)
    lines.append(f"{same} of {result.prompts} answers are the same, {unit} by {unit}; {ties} differ at a tie")
    lines.append("lossless" if result.lossless else "NOT LOSSLESS: do not put this pool into service")
    return "\n".join(lines)


def _divergence(it: Divergence, unit: str) -> str:
    margin = "" if it.margin is None else f", where the second's led by {it.margin:.3f} nats"
    text = f"prompt {it.prompt}: {unit} {it.place} is {it.ours!r} and {it.theirs!r}{margin}"
    return f"{text}{' (a tie)' if it.tie else ''}, after {it.before!r}"


def as_json(result: Result) -> dict[str, Any]:
    """For programs."""
    return {
        "prompts": result.prompts,
        "by_token": result.by_token,
        "lossless": result.lossless,
        "engines": [asdict(side) | {"tokens_per_second": side.rate} for side in result.sides],
        "divergences": [asdict(it) for it in result.divergences],
    }
