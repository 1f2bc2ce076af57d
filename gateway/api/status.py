"""GET /status: what the gateway knows of its models, pools and replicas."""

import time
from typing import Any

from gateway import __version__
from gateway.models import Model, Models
from gateway.pools import Replica


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
                "outside": pool.outside,
                "limit": model.limit(role),
                "ready": len(pool.ready),
                "replicas": [
                    {
                        "url": replica.url,
                        "inflight": replica.inflight,
                        "outside": replica.outside,
                        "engine_load": _engine_load(replica),
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


def _engine_load(replica: Replica) -> dict[str, Any] | None:
    """What the engine says it holds, and the age of that in seconds; None where engines are not asked."""
    load = replica.engine_load
    if load is None:
        return None
    age = None if load.read_at is None else round(time.monotonic() - load.read_at, 1)
    return {"count": load.count, "age": age, "error": load.error}
