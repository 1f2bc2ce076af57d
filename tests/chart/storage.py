"""An API server that also takes the Secrets in which helm keeps its releases.

helm writes those in protobuf, as all typed clients in Go do, and reads JSON back.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.kube.apiserver import ApiServer
from tests.kube.apiserver.request import Answer, Api
from tests.kube.apiserver.watching import Watch

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_METADATA = {"name": 1, "namespace": 3, "resourceVersion": 6}


class HelmServer(ApiServer):
    """The stand-in, with helm's releases."""

    def start(self) -> None:
        """Listen."""
        super().start()
        assert self._http is not None
        self._http.api = _Api(self.store, self.access, self.faults)


class _Api(Api):
    def answer(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Answer | Watch:
        if headers.get("content-type") == PROTOBUF and method in ("POST", "PUT"):
            headers = {**headers, "content-type": "application/json"}
            body = json.dumps(secret(body)).encode()
        return super().answer(method, path, query, headers, body)


def secret(envelope: bytes) -> dict[str, Any]:
    """A Secret from its protobuf, as in JSON: k8s.io/api's generated.proto has the numbers of the fields."""
    assert envelope.startswith(_MAGIC)
    raw = _one(envelope[len(_MAGIC) :], 2)
    metadata = _one(raw, 1)
    texts = {name: _one(metadata, number).decode() for name, number in _METADATA.items()}
    labels = {key: value.decode() for key, value in _map(metadata, 11)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**{name: text for name, text in texts.items() if text}, "labels": labels},
        "data": {key: base64.b64encode(value).decode() for key, value in _map(raw, 2)},
        "type": _one(raw, 3).decode(),
    }


def _map(message: bytes, number: int) -> Iterator[tuple[str, bytes]]:
    for field, entry in _fields(message):
        if field == number:
            yield _one(entry, 1).decode(), _one(entry, 2)


def _one(message: bytes, number: int) -> bytes:
    return next((content for field, content in _fields(message) if field == number), b"")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that have a length, with their numbers."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value, at = _varint(message, at)
        if key & 7 == 2:
            yield key >> 3, message[at : at + value]
            at += value
        else:
            assert key & 7 == 0, "neither a number nor something with a length"


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
