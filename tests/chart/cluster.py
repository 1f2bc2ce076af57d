"""Real helm and kubectl against the stand-in of an API server."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.chart.helm import CHART, HELM, NAMESPACE, HelmError, Object, Values
from tests.kube.apiserver import ApiServer
from tests.kube.apiserver.resources import RESOURCES, Resource

KUBECTL = HELM.parent / "kubectl"
RELEASE = "spillway"


class Cluster:
    """What helm and kubectl find at their kubeconfig."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        """`folder` is for the kubeconfig and for caches."""
        self.server = server
        self._folder = folder
        self._kubeconfig = server.kubeconfig(folder / "kubeconfig", namespace=NAMESPACE)

    def helm(self, *arguments: str, values: Values | None = None) -> str:
        """Run helm, and return what it prints.

        Raises:
            HelmError: it failed.
        """
        if values is not None:
            arguments = (*arguments, "--values", "-")
        return self._run(HELM, *arguments, "--namespace", NAMESPACE, stdin=yaml.safe_dump(values))

    def install(self, values: Values, *flags: str) -> str:
        """Install the chart, without waiting for pods that nobody runs here."""
        return self.helm("install", RELEASE, str(CHART), *flags, values=values)

    def upgrade(self, values: Values, *flags: str) -> str:
        """Upgrade the release."""
        return self.helm("upgrade", RELEASE, str(CHART), *flags, values=values)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl, and return what it prints.

        Raises:
            HelmError: it failed.
        """
        return self._run(KUBECTL, *arguments, stdin=stdin)

    def get(self, kind: str, name: str) -> Object:
        """One object of the release's namespace."""
        found: Any = json.loads(self.kubectl("get", kind, name, "--output=json"))
        assert isinstance(found, dict)
        return found

    def names(self) -> set[tuple[str, str]]:
        """Kind and name of every object in the release's namespace, but for what helm notes down for itself."""
        found = {(it.kind, item["metadata"]["name"]) for it in RESOURCES for item in self._items(it)}
        return {(kind, name) for kind, name in found if not name.startswith("sh.helm.release.")}

    def make_available(self, deployment: str, replicas: int, *, updated: bool = True) -> None:
        """Say that so many of its pods serve, and whether they are of the newest template, as its controller would."""
        [resource] = [it for it in RESOURCES if it.kind == "Deployment"]
        item = self.server.store.get(resource, (NAMESPACE, deployment))
        item["status"] = {"availableReplicas": replicas, "updatedReplicas": replicas if updated else 0}
        self.server.store.replace(resource, (NAMESPACE, deployment), item)

    def _items(self, resource: Resource) -> list[Object]:
        return self.server.store.items(resource, NAMESPACE) if resource.namespaced else []

    def _run(self, program: Path, *arguments: str, stdin: str) -> str:
        env = os.environ | {
            "KUBECONFIG": str(self._kubeconfig),
            "KUBECACHEDIR": str(self._folder / "cache"),
            "HELM_CACHE_HOME": str(self._folder / "helm"),
            "HOME": str(self._folder),
        }
        done = subprocess.run([program, *arguments], input=stdin, env=env, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise HelmError(done.stderr)
        return done.stdout
