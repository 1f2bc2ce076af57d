"""The events of one watch."""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from tests.kube.apiserver.errors import StatusError, too_large
from tests.kube.apiserver.faults import Lot
from tests.kube.apiserver.resources import Resource
from tests.kube.apiserver.selectors import Selects
from tests.kube.apiserver.store import Change, Store

Object = dict[str, Any]
_TICK = 0.02


@dataclass(frozen=True)
class Watch:
    """What a client asked for."""

    resource: Resource
    namespace: str | None
    selects: Selects
    version: str
    seconds: float
    bookmarks: bool
    initial: bool

    def admit(self, store: Store) -> None:
        """Raises what is answered in place of a stream."""
        if self.version not in ("", "0") and int(self.version) > store.version:
            raise too_large(int(self.version), store.version)

    def events(self, store: Store, lot: Lot, bookmark_seconds: float) -> Iterator[Object | bytes | None]:
        """Events in order until it is time to end; None now and then, when there is nothing to say."""
        faults, until = lot.faults, time.monotonic() + self.seconds
        try:
            version = yield from self._beginning(store)
            mark_at = time.monotonic() + bookmark_seconds
            while lot.dead or time.monotonic() < until:
                with store.changed:
                    if store.version == version:
                        store.changed.wait(_TICK)
                    changes, newest = store.changes(self.resource, self.namespace, version), store.version
                if lot.dead:
                    yield None
                    continue
                if (last := lot.last_line) is not None:
                    yield last if isinstance(last, bytes) else _error(last)
                    return
                for change in changes:
                    event = _event(change, self.selects)
                    if event is not None and not (faults.drops and faults.drops(event)):
                        yield event
                version = newest
                if self.bookmarks and time.monotonic() >= mark_at:
                    mark_at = time.monotonic() + bookmark_seconds
                    yield _bookmark(self.resource, version)
                yield None
            if self.bookmarks:
                yield _bookmark(self.resource, version)
        except StatusError as error:
            yield _error(error)

    def _beginning(self, store: Store) -> Generator[Object, None, int]:
        """Without a version, all there is; returns the version reached."""
        if self.version not in ("", "0") and not self.initial:
            store.check(int(self.version))
            return int(self.version)
        with store.changed:
            version, items = store.version, store.items(self.resource, self.namespace)
        for item in filter(self.selects, items):
            yield {"type": "ADDED", "object": item}
        if self.initial and self.bookmarks:
            mark = _bookmark(self.resource, version)
            mark["object"]["metadata"]["annotations"] = {"k8s.io/initial-events-end": "true"}
            yield mark
        return version


def _event(change: Change, selects: Selects) -> Object | None:
    """What a watch with this selector sees of a change: an object that begins to match is added, and so on."""
    was, matches = (item is not None and selects(item) for item in (change.before, change.after))
    if not was and not matches:
        return None
    if not matches:
        gone = change.before or {}
        version = {"resourceVersion": str(change.version)}
        return {"type": "DELETED", "object": {**gone, "metadata": {**gone["metadata"], **version}}}
    return {"type": "MODIFIED" if was else "ADDED", "object": change.after}


def _error(error: StatusError) -> Object:
    return {"type": "ERROR", "object": error.status()}


def _bookmark(resource: Resource, version: int) -> Object:
    empty = {"addressType": "", "endpoints": None, "ports": None} if resource.kind == "EndpointSlice" else {}
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    made = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata, **empty}
    return {"type": "BOOKMARK", "object": made}
