"""One request and its answer, without HTTP: the verbs of the API on the store."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.kube.apiserver.access import Access
from tests.kube.apiserver.admission import admitted
from tests.kube.apiserver.errors import StatusError, bad_request, too_large
from tests.kube.apiserver.faults import Faults
from tests.kube.apiserver.patches import APPLY_PATCH, patched
from tests.kube.apiserver.resources import Resource, document, find
from tests.kube.apiserver.selectors import SelectorError, Selects, by_fields, by_labels
from tests.kube.apiserver.store import Key, Store
from tests.kube.apiserver.watching import Watch

Object = dict[str, Any]
_LONGEST_WATCH = 1800.0
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


@dataclass(frozen=True)
class Answer:
    """A status and an object."""

    status: int
    item: Object


@dataclass(frozen=True)
class Target:
    """What a path leads to: a kind, in a namespace or in all, and one object or all."""

    resource: Resource
    namespace: str | None
    name: str | None

    @property
    def key(self) -> Key:
        return self.namespace or "", self.name or ""


def target(path: str) -> Target | None:
    """Reads a path; None where there is nothing."""
    steps = path.strip("/").split("/")
    group, rest = ("", steps[1:]) if steps[0] == "api" else ("/".join(steps[1:2]), steps[2:])
    if len(rest) < 2 or steps[0] not in ("api", "apis"):
        return None
    version, *rest = rest
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource = find(group, version, rest[0])
    if resource is None or len(rest) > 2:
        return None
    return Target(resource, namespace, rest[1] if len(rest) == 2 else None)


@dataclass
class Api:
    """The verbs."""

    store: Store
    access: Access
    faults: Faults

    def answer(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Answer | Watch:
        """Do what the request asks for. Raises StatusError."""
        bearer = self.access.authenticate(headers.get("authorization"))
        if method == "GET" and (found := document(path.rstrip("/") or "/")) is not None:
            return Answer(200, found)
        at = target(path)
        if at is None:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        verb = _verb(method, at, query)
        self.access.authorize(bearer, verb, at.resource, at.namespace)
        self.faults.check(verb)
        if verb == "watch":
            watch = self._watch(at, query)
            watch.admit(self.store)
            return watch
        if verb == "list":
            return Answer(200, self._list(at, query))
        return self._one(verb, at, query, headers, body)

    def _one(self, verb: str, at: Target, query: Mapping[str, str], headers: Mapping[str, str], body: bytes) -> Answer:
        resource, dry = at.resource, "dryRun" in query
        if verb == "get":
            return Answer(200, self.store.get(resource, at.key))
        if verb == "delete":
            gone = self.store.delete(resource, at.key, dry=dry)
            details = {
                "name": at.name,
                "kind": resource.plural,
                "group": resource.group,
                "uid": gone["metadata"]["uid"],
            }
            return Answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details})
        content_type = headers.get("content-type", "application/json").split(";")[0]
        given = _parsed(body, content_type)
        if verb == "create":
            return Answer(201, self.store.create(resource, admitted(resource, _located(given, at)), dry=dry))
        if verb == "update":
            before = self.store.get(resource, at.key)
            made = admitted(resource, _located(given, at), before)
            return Answer(200, self.store.replace(resource, at.key, made, dry=dry))
        if content_type == APPLY_PATCH and not self._exists(at):
            return Answer(201, self.store.create(resource, admitted(resource, _located(given, at)), dry=dry))

        def change(before: Object) -> Object:
            return admitted(resource, _located(patched(resource.kind, before, content_type, given), at), before)

        return Answer(200, self.store.update(resource, at.key, change, dry=dry))

    def _exists(self, at: Target) -> bool:
        try:
            self.store.get(at.resource, at.key)
        except StatusError:
            return False
        return True

    def _list(self, at: Target, query: Mapping[str, str]) -> Object:
        selects = _selects(query)
        stated = query.get("resourceVersion", "")
        if stated not in ("", "0") and int(stated) > self.store.version:
            raise too_large(int(stated), self.store.version)
        with self.store.changed:
            version, start = self.store.version, ("", "")
            if token := query.get("continue"):
                if self.faults.broken_pages:
                    self.store.compact()
                version, *place = json.loads(base64.b64decode(token))
                start = (place[0], place[1])
            items = list(filter(selects, self.store.items(at.resource, at.namespace, version)))
        items = [item for item in items if _key(item) > start]
        limit = int(query.get("limit") or 0) or len(items)
        metadata: Object = {"resourceVersion": str(version)}
        if len(items) > limit:
            place = json.dumps([version, *_key(items[limit - 1])])
            metadata |= {
                "continue": base64.b64encode(place.encode()).decode(),
                "remainingItemCount": len(items) - limit,
            }
        # As the real one has it, the items of a list do not repeat its kind.
        bare = [
            {name: value for name, value in it.items() if name not in ("kind", "apiVersion")} for it in items[:limit]
        ]
        kind = f"{at.resource.kind}List"
        return {"kind": kind, "apiVersion": at.resource.api_version, "metadata": metadata, "items": bare}

    def _watch(self, at: Target, query: Mapping[str, str]) -> Watch:
        selects = _selects(query)
        if at.name is not None:
            selects = by_fields(f"metadata.name={at.name}")
        return Watch(
            at.resource,
            at.namespace,
            selects,
            query.get("resourceVersion", ""),
            float(query.get("timeoutSeconds") or _LONGEST_WATCH),
            query.get("allowWatchBookmarks") in _TRUE,
            query.get("sendInitialEvents") in _TRUE,
        )


def _verb(method: str, at: Target, query: Mapping[str, str]) -> str:
    if method == "GET":
        if query.get("watch") in _TRUE:
            return "watch"
        return "get" if at.name is not None else "list"
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    if method not in verbs or (at.name is None) != (method == "POST"):
        raise StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    return verbs[method]


def _parsed(body: bytes, content_type: str) -> Any:
    if "json" not in content_type and "yaml" not in content_type:
        # kubectl tries protobuf first for some kinds, and JSON then.
        raise StatusError(
            415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {content_type}"
        )
    try:
        return yaml.safe_load(body) if content_type.endswith("yaml") else json.loads(body)
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the body can't be read as {content_type}: {error}") from None


def _located(item: Any, at: Target) -> Object:
    """The object with the namespace and name of the path. Raises 400 where it states others."""
    if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
        raise bad_request("the body is no object with metadata")
    metadata = dict(item["metadata"])
    for name, wanted in (("namespace", at.namespace), ("name", at.name)):
        if wanted is not None and metadata.setdefault(name, wanted) != wanted:
            raise bad_request(f"the {name} of the object, {metadata[name]}, is not that of the path, {wanted}")
    return {**item, "metadata": metadata}


def _key(item: Object) -> Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _selects(query: Mapping[str, str]) -> Selects:
    try:
        labels, fields = by_labels(query.get("labelSelector", "")), by_fields(query.get("fieldSelector", ""))
    except SelectorError as error:
        raise bad_request(str(error)) from None
    return lambda item: labels(item) and fields(item)
