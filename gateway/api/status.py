"""GET /status: what the gateway knows of its models, pools and replicas."""

import time
from datetime import UTC, datetime
from typing import Any

from gateway import __version__
from gateway.load.shared import SharedCounts
from gateway.models import Model, Models, explain
from gateway.pools import Replica


def describe(models: Models, *, gateway: str, draining: bool) -> dict[str, Any]:
    """The whole status as JSON-able values."""
    return {
        "version": __version__,
        "gateway": gateway,
        "draining": draining,
        "redis": None if models.shared is None else _redis(models.shared),
        "models": [_model(model) for model in models.with_requests()],
    }


def _redis(shared: SharedCounts) -> dict[str, Any]:
    return {
        "state": shared.state,
        "since": _utc(shared.since),
        "mode": shared.settings.mode,
        "address": shared.address,
        "error": shared.error,
    }


def _model(model: Model) -> dict[str, Any]:
    policy = model.config.policy.model_dump()
    if policy.get("mode") == "switch":
        policy["high"] = model.high
    return {
        "name": model.config.name,
        "aliases": list(model.config.aliases),
        "policy": policy,
        "queued": len(model.queue),
        **_sharing(model),
        **({} if model.adapting is None else {"adaptive": explain(model.adapting, model.evidence, time.monotonic())}),
        "pools": {
            role: {
                "inflight": pool.inflight + pool.elsewhere,
                "inflight_here": pool.inflight,
                "outside": pool.outside,
                "limit": model.limit(role),
                **({} if model.sharing is None else {"share": model.share(role)}),
                "ready": len(pool.ready),
                "replicas": [
                    {
                        "url": replica.url,
                        "inflight": replica.inflight + replica.elsewhere,
                        "inflight_here": replica.inflight,
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


def _sharing(model: Model) -> dict[str, Any]:
    """Where this model's decisions and counts come from now."""
    if model.sharing is None:
        return {"gateways": 1, "source": "local"}
    link = model.sharing.link
    return {
        "gateways": link.gateways,
        "source": "redis" if link.decides else "local",
        "since": _utc(link.since),
    }


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _engine_load(replica: Replica) -> dict[str, Any] | None:
    """What the engine says it holds, and the age of that in seconds; None where engines are not asked."""
    load = replica.engine_load
    if load is None:
        return None
    age = None if load.read_at is None else round(time.monotonic() - load.read_at, 1)
    return {"count": load.count, "age": age, "error": load.error}
