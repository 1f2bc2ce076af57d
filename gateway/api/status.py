"""GET /status: what the gateway knows of its models, pools and replicas."""

from typing import Any

from gateway import __version__
from gateway.models import Model, Models


def describe(models: Models, *, draining: bool) -> dict[str, Any]:
    """The whole status as JSON-able values."""
    return {"version": __version__, "draining": draining, "models": [_model(model) for model in models.with_requests()]}


def _model(model: Model) -> dict[str, Any]:
    policy = model.config.policy.model_dump()
    if policy.get("mode") == "switch":
        policy["high"] = model.high
    return {
        "name": model.config.name,
        "aliases": list(model.config.aliases),
        "policy": policy,
        "queued": len(model.queue),
        "pools": {
            role: {
                "inflight": pool.inflight,
                "limit": model.limit(role),
                "ready": len(pool.ready),
                "replicas": [
                    {
                        "url": replica.url,
                        "inflight": replica.inflight,
                        "state": replica.state.value,
                        "error": replica.error,
                    }
                    for replica in pool.replicas.values()
                ],
            }
            for role, pool in model.pools.items()
            if pool.config is not None or pool.replicas
        },
    }
