"""EndpointSlices (discovery.k8s.io/v1) as the API server sends them, and what one says of a pool's replicas. Pure."""

from typing import NamedTuple

import msgspec

from gateway.config import Kubernetes


class _Target(msgspec.Struct, frozen=True):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class _Conditions(msgspec.Struct, frozen=True):
    ready: bool | None = None
    terminating: bool | None = None


class _Endpoint(msgspec.Struct, frozen=True, rename="camel"):
    addresses: tuple[str, ...] | None = None
    conditions: _Conditions | None = None
    target_ref: _Target | None = None


class _Port(msgspec.Struct, frozen=True):
    name: str | None = None
    port: int | None = None
    protocol: str | None = None


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """Of an object or of a list."""

    name: str = ""
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class EndpointSlice(msgspec.Struct, frozen=True, rename="camel"):
    """The fields that matter here. The API server writes null for empty lists."""

    metadata: Metadata
    address_type: str = ""
    endpoints: tuple[_Endpoint, ...] | None = None
    ports: tuple[_Port, ...] | None = None


class Reading(NamedTuple):
    """How to make base URLs of endpoints: the pool's settings."""

    port: str | None = None
    scheme: str = "http"
    path: str = ""

    @classmethod
    def of(cls, settings: Kubernetes) -> "Reading":
        """What the configuration says."""
        return cls(settings.port, settings.scheme, settings.path.rstrip("/"))


class Entry(NamedTuple):
    """One endpoint: its pod (or its address, where it has none), how much its address family is liked (0 the most),
    its base URL, and whether it takes new requests."""

    pod: str
    family: int
    url: str
    usable: bool


class Read(NamedTuple):
    """What a slice says; `problem` in words, where its endpoints can't be used."""

    entries: tuple[Entry, ...] = ()
    problem: str | None = None


_FAMILIES = ("IPv4", "IPv6", "FQDN")


def read(piece: EndpointSlice, reading: Reading) -> Read:
    """The endpoints of one slice."""
    if not piece.endpoints:
        return Read()
    port, problem = _port(piece, reading.port)
    if port is None:
        return Read(problem=problem)
    family = _FAMILIES.index(piece.address_type) if piece.address_type in _FAMILIES else len(_FAMILIES)
    entries: list[Entry] = []
    for endpoint in piece.endpoints:
        if not endpoint.addresses:
            continue
        # Of several addresses, all lead to the same endpoint; consumers use the first.
        address = endpoint.addresses[0]
        host = f"[{address}]" if ":" in address else address
        url = f"{reading.scheme}://{host}:{port}{reading.path}"
        entries.append(Entry(_pod(endpoint.target_ref) or url, family, url, _takes_requests(endpoint.conditions)))
    return Read(tuple(entries))


def _takes_requests(conditions: _Conditions | None) -> bool:
    """`ready` left out means true. A Service that publishes unready addresses says ready even of what terminates."""
    return conditions is None or (conditions.ready is not False and not conditions.terminating)


def _pod(target: _Target | None) -> str | None:
    if target is None or target.kind != "Pod":
        return None
    return target.uid or target.name


def _port(piece: EndpointSlice, wanted: str | None) -> tuple[int | None, str]:
    """The port's number, or why there is none."""
    listed = [port for port in piece.ports or () if port.port is not None and (port.protocol or "TCP") == "TCP"]
    number = int(wanted) if wanted is not None and wanted.isdigit() else None
    if number is not None and not listed:
        return number, ""
    for port in listed:
        if port.port == number or (port.name or "") == wanted or (wanted is None and len(listed) == 1):
            return port.port, ""
    names = ", ".join(f"{port.name}={port.port}" if port.name else str(port.port) for port in listed) or "no port"
    where = f"EndpointSlice {piece.metadata.name} lists {names}"
    if wanted is None:
        return None, f"{where}: say which with discovery.kubernetes.port"
    return None, f"{where}, not {wanted}: discovery.kubernetes.port is the pods' port (a Service's targetPort)"
