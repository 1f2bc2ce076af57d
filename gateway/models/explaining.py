"""What the policy `adaptive` knows and does, for people: /status and the metrics."""

from typing import Any

from gateway.models.adapting import Adapting
from gateway.models.evidence import Evidence
from gateway.routing import NODES, ROLES, Curve


def crossover(adapting: Adapting, now: float) -> int | None:
    """Requests on a speculative replica from which on the next is worth more elsewhere; None: none, or not known.

    Elsewhere is an idle baseline replica; on shared hardware, the baseline pool with the whole load.
    """
    speculative, baseline = adapting.learning.curves(now)
    if not speculative.requests or not baseline.requests:
        return None
    if adapting.settings.shared_hardware:
        pairs = zip(NODES, speculative.rates, baseline.rates, strict=True)
    else:
        pairs = zip(NODES, speculative.gains, (baseline.gains[0],) * len(NODES), strict=True)
    return next((node for node, here, there in pairs if there > here), None)


def explain(adapting: Adapting, evidence: Evidence | None, now: float) -> dict[str, Any]:
    """All of it, as JSON-able values. Rates are tokens per second of one request, by requests on a replica."""
    state, last = adapting.state, adapting.last
    curves = dict(zip(ROLES, adapting.learning.curves(now), strict=True))
    return {
        "mode": None if last is None else last.mode,
        "weight": adapting.weight,
        "pool": state.together.role if adapting.settings.shared_hardware else None,
        "crossover": crossover(adapting, now),
        "changes": state.changes,
        "explorations_left": round(state.budget.credit, 2),
        "decisions": dict(adapting.modes),
        "evidence": None if evidence is None else evidence.explain(),
        "pools": {
            role: {
                **_curve(curve, now),
                "requests_here": round(adapting.learning.pools[role].observed),
                "level": round(adapting.learning.pools[role].level.factor, 3),
                "expected": None if last is None else round(last.expected[role == "baseline"], 2),
                "worth": None if last is None else round(last.worth[role == "baseline"], 2),
            }
            for role, curve in curves.items()
        },
    }


def _curve(curve: Curve, now: float) -> dict[str, Any]:
    last = max((at for at, known in enumerate(curve.known) if known >= 0.5), default=-1)
    return {
        "requests": round(curve.requests),
        "age": None if curve.newest < 0 else round(now - curve.newest, 1),
        "spread": round(curve.spread, 3),
        "first_token": round(curve.first, 4),
        "per_prompt_token": round(curve.prefill, 7),
        "curve": [
            {
                "inflight": NODES[at],
                "rate": round(curve.rates[at], 2),
                "worth": round(curve.gains[at], 2),
                "requests": round(curve.known[at], 1),
            }
            for at in range(last + 2 if last >= 0 else 0)
            if at < len(NODES)
        ],
    }
