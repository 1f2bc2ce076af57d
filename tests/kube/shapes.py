"""EndpointSlices as the API server writes them, for tests."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gateway.pools.discovery.slices import EndpointSlice

Object = dict[str, Any]
NAMESPACE = "llm"
SERVICE = "k2-baseline"


def endpoint(address: str, pod: str | None = None, **conditions: bool | None) -> Object:
    """One endpoint; conditions left out are those of a ready one."""
    ready = {"ready": True, "serving": True, "terminating": False}
    made: Object = {"addresses": [address], "conditions": {**ready, **conditions}}
    if pod is not None:
        made["targetRef"] = {"kind": "Pod", "namespace": NAMESPACE, "name": pod, "uid": f"uid-{pod}"}
    return made


def terminating(address: str, pod: str | None = None) -> Object:
    """An endpoint whose pod is being shut down and still answers."""
    return endpoint(address, pod, ready=False, serving=True, terminating=True)


def endpoint_slice(
    name: str,
    endpoints: Sequence[Object] | None,
    *,
    family: str = "IPv4",
    ports: Sequence[Object] | None = ({"name": "http", "port": 30000, "protocol": "TCP"},),
    service: str = SERVICE,
    labels: dict[str, str] | None = None,
) -> Object:
    """A whole object, without version: that is the API server's to give."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": service, **(labels or {})},
        },
        "addressType": family,
        "endpoints": None if endpoints is None else list(endpoints),
        "ports": None if ports is None else list(ports),
    }


def decoded(made: Object, version: str = "") -> EndpointSlice:
    """The object as the gateway reads it from the wire."""
    whole = {**made, "metadata": {**made["metadata"], "resourceVersion": version}}
    return msgspec.json.decode(msgspec.json.encode(whole), type=EndpointSlice)
