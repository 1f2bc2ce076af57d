"""GET /v1/models: what can be asked for, over all pools, each name once."""

from typing import Any

from gateway.models import Model, Models


def list_models(models: Models, created: int) -> dict[str, Any]:
    """The list in OpenAI's shape. What an engine says of the model (context length and so on) is kept."""
    data: dict[str, dict[str, Any]] = {}
    for model in models:
        described = _as_engines_tell(model)
        for name in (model.config.name, *model.config.aliases):
            data[name] = {"object": "model", "created": created, "owned_by": "spillway", **described, "id": name}
    return {"object": "list", "data": list(data.values())}


def _as_engines_tell(model: Model) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for pool in model.pools.values():
        names = (pool.config.engine_model if pool.config else None, model.config.name)
        for replica in pool.ready:
            entries = {entry.get("id"): entry for entry in replica.engine_models}
            for entry in [entries[name] for name in names if name in entries]:
                merged = {**entry, **merged}
    return merged
