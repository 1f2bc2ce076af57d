"""Objects with one version counter for all, as in etcd: every change has a version, and watches replay changes."""

import copy
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.kube.apiserver.errors import StatusError, conflict, exists, expired, not_found
from tests.kube.apiserver.resources import Resource

Object = dict[str, Any]
Key = tuple[str, str]


@dataclass(frozen=True)
class Change:
    """One change of one object. `after` is None for a deletion; `before` is None for a creation."""

    version: int
    resource: Resource
    key: Key
    before: Object | None
    after: Object | None


class Store:
    """All objects, and all changes ever; those up to a floor count as compacted. Any thread may call its methods."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._version = 100
        self._floor = 100
        self._changes: list[Change] = []
        self._objects: dict[tuple[Resource, Key], Object] = {}

    @property
    def version(self) -> int:
        with self.changed:
            return self._version

    def compact(self) -> None:
        """Forget how the present came about: who resumes from an older version gets 410."""
        with self.changed:
            self._version += 1
            self._floor = self._version

    def items(self, resource: Resource, namespace: str | None, version: int | None = None) -> list[Object]:
        """The objects of a kind by namespace and name, now or at a version. Raises 410 for one that is compacted."""
        with self.changed:
            objects = self._objects if version is None else self._past(version)
            return [
                item
                for (kind, key), item in sorted(objects.items(), key=lambda pair: pair[0][1])
                if kind == resource and namespace in (None, key[0])
            ]

    def check(self, version: int) -> None:
        """Raises 410 if what came after a version is not known any more."""
        with self.changed:
            if version < self._floor:
                raise expired(f"too old resource version: {version} ({self._floor})")

    def changes(self, resource: Resource, namespace: str | None, since: int) -> list[Change]:
        """What came after a version."""
        with self.changed:
            newer = self._changes[self._position(since) :]
            return [it for it in newer if it.resource == resource and namespace in (None, it.key[0])]

    def get(self, resource: Resource, key: Key) -> Object:
        with self.changed:
            if (resource, key) not in self._objects:
                raise not_found(resource, key[1])
            return copy.deepcopy(self._objects[resource, key])

    def create(self, resource: Resource, item: Object, *, dry: bool = False) -> Object:
        with self.changed:
            key = self._key(resource, item)
            if (resource, key) in self._objects:
                raise exists(resource, key[1])
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            metadata = {**item["metadata"], "uid": str(uuid.uuid4()), "creationTimestamp": now, "generation": 1}
            return self._put(resource, key, {**item, "metadata": metadata}, dry)

    def replace(self, resource: Resource, key: Key, item: Object, *, dry: bool = False) -> Object:
        """Raises 409 if the object states a version that is not the present one."""
        with self.changed:
            old = self.get(resource, key)
            stated = item["metadata"].get("resourceVersion")
            if stated not in (None, "", old["metadata"]["resourceVersion"]):
                raise conflict(resource, key[1])
            kept = {name: old["metadata"][name] for name in ("uid", "creationTimestamp", "generation")}
            new = {
                **item,
                "metadata": {**item["metadata"], **kept, "resourceVersion": old["metadata"]["resourceVersion"]},
            }
            # As the real one has it, a write that changes nothing makes no version and no event.
            return old if new == old else self._put(resource, key, new, dry)

    def update(self, resource: Resource, key: Key, change: Callable[[Object], Object], *, dry: bool = False) -> Object:
        """Read, change and write as one step."""
        with self.changed:
            return self.replace(resource, key, change(self.get(resource, key)), dry=dry)

    def delete(self, resource: Resource, key: Key, *, dry: bool = False) -> Object:
        with self.changed:
            old = self.get(resource, key)
            if dry:
                return old
            self._version += 1
            old["metadata"]["resourceVersion"] = str(self._version)
            del self._objects[resource, key]
            self._record(Change(self._version, resource, key, old, None))
            return old

    def _put(self, resource: Resource, key: Key, item: Object, dry: bool) -> Object:
        item = copy.deepcopy(item)
        if dry:
            return item
        before = self._objects.get((resource, key))
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        self._objects[resource, key] = item
        self._record(Change(self._version, resource, key, before, item))
        return copy.deepcopy(item)

    def _record(self, change: Change) -> None:
        self._changes.append(change)
        self.changed.notify_all()

    def _key(self, resource: Resource, item: Object) -> Key:
        metadata = item["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}{uuid.uuid4().hex[:5]}"
        if not metadata.get("name"):
            raise StatusError(422, "Invalid", f"{resource.kind} is invalid: metadata.name: Required value")
        return metadata.get("namespace", "") if resource.namespaced else "", metadata["name"]

    def _position(self, version: int) -> int:
        """Where in the changes those after `version` begin."""
        low, high = 0, len(self._changes)
        while low < high:
            middle = (low + high) // 2
            if self._changes[middle].version <= version:
                low = middle + 1
            else:
                high = middle
        return low

    def _past(self, version: int) -> dict[tuple[Resource, Key], Object]:
        if version < self._floor:
            raise expired("The provided continue parameter is too old to display a consistent list result.")
        objects = dict(self._objects)
        for change in reversed(self._changes[self._position(version) :]):
            objects.pop((change.resource, change.key), None)
            if change.before is not None:
                objects[change.resource, change.key] = change.before
        return objects
