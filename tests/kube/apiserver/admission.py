"""What the API server does to an object before it stores it: defaults, and refusals of what is not valid."""

import ipaddress
from typing import Any

from tests.kube.apiserver.errors import StatusError
from tests.kube.apiserver.resources import SLICES, Resource

Object = dict[str, Any]
_MOST_ENDPOINTS = 1000


def admitted(resource: Resource, item: Object, before: Object | None = None) -> Object:
    """The object as it is stored. Raises 422."""
    made = {**item, "apiVersion": resource.api_version, "kind": resource.kind}
    return _slice(made, before) if resource == SLICES else made


def _slice(item: Object, before: Object | None) -> Object:
    family = item.get("addressType")
    name = item["metadata"].get("name")
    if family not in ("IPv4", "IPv6", "FQDN"):
        raise _invalid(
            name, f'addressType: Unsupported value: "{family or ""}": supported values: "IPv4", "IPv6", "FQDN"'
        )
    if before is not None and before["addressType"] != family:
        raise _invalid(name, f'addressType: Invalid value: "{family}": field is immutable')
    endpoints = item.get("endpoints")
    if endpoints and len(endpoints) > _MOST_ENDPOINTS:
        raise _invalid(name, f"endpoints: Too many: {len(endpoints)}: must have at most {_MOST_ENDPOINTS} items")
    for number, endpoint in enumerate(endpoints or ()):
        _check_addresses(name, number, endpoint.get("addresses") or [], family)
    ports = item.get("ports")
    # Neither list is left out where it is empty: they are null.
    item["endpoints"] = endpoints and [{**it, "conditions": it.get("conditions") or {}} for it in endpoints]
    item["ports"] = ports and [
        {**it, "name": it.get("name", ""), "protocol": it.get("protocol", "TCP")} for it in ports
    ]
    return item


def _check_addresses(name: str | None, number: int, addresses: list[str], family: str) -> None:
    where = f"endpoints[{number}].addresses"
    if not addresses:
        raise _invalid(name, f"{where}: Required value: must contain at least 1 address")
    for address in addresses:
        try:
            version: int = ipaddress.ip_address(address).version
        except ValueError:
            version = 0
        if version != {"IPv4": 4, "IPv6": 6, "FQDN": 0}[family]:
            raise _invalid(name, f'{where}[0]: Invalid value: "{address}": must be a valid {family} address')


def _invalid(name: str | None, message: str) -> StatusError:
    return StatusError(422, "Invalid", f'EndpointSlice.discovery.k8s.io "{name}" is invalid: {message}')
