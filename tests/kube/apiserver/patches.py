"""The patch formats of the Kubernetes API, as far as clients of these kinds use them."""

import copy
from typing import Any

from tests.kube.apiserver.errors import StatusError, bad_request

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# Lists that are merged by a key; all others are replaced as a whole, as `endpoints` and `ports` of a slice are.
_MERGE_KEYS = {
    ("Service", "spec.ports"): "port",
    ("Deployment", "spec.template.spec.containers"): "name",
    ("StatefulSet", "spec.template.spec.containers"): "name",
}


def patched(kind: str, item: Object, content_type: str, patch: Any) -> Object:
    """The object with the patch applied. Raises 400 or 415."""
    made = copy.deepcopy(item)
    if content_type == JSON_PATCH:
        return _json_patched(made, patch)
    if content_type == STRATEGIC_PATCH:
        return dict(_strategic(kind, "", made, patch))
    if content_type in (MERGE_PATCH, APPLY_PATCH):
        return dict(_merged(made, patch))
    raise StatusError(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {content_type}")


def _merged(item: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _strategic(kind: str, path: str, item: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        inside = f"{path}.{name}" if path else name
        key = _MERGE_KEYS.get((kind, inside))
        if value is None:
            result.pop(name, None)
        elif key is not None and isinstance(value, list):
            result[name] = _merged_list(kind, inside, key, result.get(name) or [], value)
        else:
            result[name] = _strategic(kind, inside, result.get(name), value)
    return result


def _merged_list(kind: str, path: str, key: str, items: list[Object], patches: list[Object]) -> list[Object]:
    result = {item.get(key): item for item in items}
    for patch in patches:
        if patch.get("$patch") == "delete":
            result.pop(patch.get(key), None)
        else:
            result[patch.get(key)] = _strategic(kind, path, result.get(patch.get(key)), patch)
    return list(result.values())


def _json_patched(item: Object, operations: Any) -> Object:
    for operation in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        try:
            around: Any = item
            for step in steps[:-1]:
                around = around[int(step)] if isinstance(around, list) else around[step]
            _operate(around, steps[-1], operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise bad_request(f"the json patch does not apply at {operation['path']}: {error!r}") from None
    return item


def _operate(around: Any, step: str, operation: Object) -> None:
    place: Any = step
    if isinstance(around, list):
        place = len(around) if step == "-" else int(step)
    match operation["op"]:
        case "remove":
            del around[place]
        case "add" if isinstance(around, list):
            around.insert(place, operation["value"])
        case "add":
            around[place] = operation["value"]
        case "replace":
            around[place]  # It has to be there.
            around[place] = operation["value"]
        case "test":
            if around[place] != operation["value"]:
                raise ValueError("test failed")
        case other:
            raise ValueError(f"unknown operation {other}")
