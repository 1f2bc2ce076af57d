"""The kinds of objects that the stand-in keeps, and the documents by which clients discover them."""

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """One kind. `group` is empty for the core."""

    group: str
    version: str
    plural: str
    kind: str
    short: tuple[str, ...] = ()
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As error messages have it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


RESOURCES = (
    Resource("", "v1", "namespaces", "Namespace", ("ns",), namespaced=False),
    Resource("", "v1", "services", "Service", ("svc",)),
    Resource("", "v1", "pods", "Pod", ("po",)),
    Resource("", "v1", "configmaps", "ConfigMap", ("cm",)),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", ("sa",)),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", ("pvc",)),
    Resource("apps", "v1", "deployments", "Deployment", ("deploy",)),
    Resource("apps", "v1", "statefulsets", "StatefulSet", ("sts",)),
    Resource("batch", "v1", "jobs", "Job"),
    Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", ("hpa",)),
    Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress", ("ing",)),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", ("netpol",)),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", ("pdb",)),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
)
NAMESPACES = RESOURCES[0]
SLICES = next(resource for resource in RESOURCES if resource.kind == "EndpointSlice")

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def find(group: str, version: str, plural: str) -> Resource | None:
    """The resource with this address."""
    wanted = (group, version, plural)
    return next((it for it in RESOURCES if (it.group, it.version, it.plural) == wanted), None)


def document(path: str) -> Object | None:
    """What a client reads before it asks for objects, or None where there is nothing at the path."""
    groups = sorted({(it.group, it.version) for it in RESOURCES if it.group})
    versions = [("", "v1"), *groups]
    fixed: dict[str, Object] = {
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0", "platform": "linux/amd64"},
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*it) for it in groups]},
        "/openapi/v3": {"paths": {_where(*it): {"serverRelativeURL": f"/openapi/v3/{_where(*it)}"} for it in versions}},
    }
    if path in fixed:
        return fixed[path]
    for group, version in versions:
        if path == f"/{_where(group, version)}":
            return _resources(group, version)
        if path == f"/openapi/v3/{_where(group, version)}":
            return _openapi(group, version)
        if path == f"/apis/{group}":
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, version)}
    return None


def _where(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _openapi(group: str, version: str) -> Object:
    """No schemas, but the promise that the server checks fields itself: without it kubectl would want the schemas."""
    paths = {}
    for it in RESOURCES:
        if (it.group, it.version) == (group, version):
            kind = {"group": group, "version": version, "kind": it.kind}
            validation = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
            operation = {"parameters": [validation], "responses": {}, "x-kubernetes-group-version-kind": kind}
            inside = "namespaces/{namespace}/" if it.namespaced else ""
            paths[f"/{_where(group, version)}/{inside}{it.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": paths}


def _group(group: str, version: str) -> Object:
    offered = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [offered], "preferredVersion": offered}


def _resources(group: str, version: str) -> Object:
    listed = [
        {
            "name": it.plural,
            "singularName": it.kind.lower(),
            "namespaced": it.namespaced,
            "kind": it.kind,
            "verbs": _VERBS,
            "shortNames": list(it.short),
        }
        for it in RESOURCES
        if (it.group, it.version) == (group, version)
    ]
    where = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": where, "resources": listed}
