"""The stand-in does to clients what the real API server does: driven by kubectl and by the official Python client."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.watch import Watch

from tests.kube.apiserver import ApiServer
from tests.kube.conftest import Kubectl
from tests.kube.shapes import NAMESPACE, SERVICE, endpoint, endpoint_slice


def client_of(kubeconfig: Path) -> Any:
    """The official client; it takes plain objects as well as its models, which its annotations don't say."""
    config.load_kube_config(str(kubeconfig))
    return client.DiscoveryV1Api()


def watching(*arguments: Any, **options: Any) -> Iterator[Any]:
    watch: Any = Watch()
    yield from watch.stream(*arguments, **options)


def refusal(error: pytest.ExceptionInfo[ApiException]) -> tuple[int | None, str]:
    return error.value.status, json.loads(error.value.body or "{}")["reason"]


class TestKubectl:
    def test_apply_get_patch_delete(self, kubectl: Kubectl) -> None:
        made = endpoint_slice("a", [endpoint("10.0.0.1", "p")])
        assert kubectl("apply", "-f", "-", stdin=yaml.safe_dump(made)).strip().endswith("created")
        assert kubectl("apply", "-f", "-", stdin=yaml.safe_dump(made)).strip().endswith("unchanged")
        made["endpoints"] = [endpoint("10.0.0.2", "q")]
        assert kubectl("apply", "-f", "-", stdin=yaml.safe_dump(made)).strip().endswith("configured")
        patch = '[{"op": "replace", "path": "/endpoints/0/conditions/ready", "value": false}]'
        kubectl("patch", "endpointslice", "a", "--type=json", "-p", patch)
        seen = yaml.safe_load(kubectl("get", "endpointslice", "a", "-o", "yaml"))
        assert [it["addresses"] for it in seen["endpoints"]] == [["10.0.0.2"]]
        assert seen["endpoints"][0]["conditions"]["ready"] is False
        listed = yaml.safe_load(
            kubectl("get", "endpointslices", "-l", f"kubernetes.io/service-name={SERVICE}", "-o", "yaml")
        )
        assert [it["metadata"]["name"] for it in listed["items"]] == ["a"]
        assert kubectl("get", "endpointslices", "-l", "kubernetes.io/service-name=other", "-o", "name") == ""
        assert kubectl("get", "endpointslices", "--field-selector", "metadata.name=b", "-o", "name") == ""
        kubectl("delete", "endpointslice", "a")
        assert kubectl("get", "endpointslices", "-o", "name") == ""

    def test_server_side_apply(self, kubectl: Kubectl) -> None:
        made = yaml.safe_dump(endpoint_slice("a", [endpoint("10.0.0.1")]))
        kubectl("apply", "--server-side", "-f", "-", stdin=made)
        kubectl("apply", "--server-side", "-f", "-", stdin=made.replace("10.0.0.1", "10.0.0.2"))
        assert "10.0.0.2" in kubectl("get", "endpointslices", "-o", "yaml")

    def test_a_service(self, kubectl: Kubectl) -> None:
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "k2"}}
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump({**service, "spec": {"ports": [{"port": 80}]}}))
        kubectl("patch", "service", "k2", "-p", '{"spec": {"ports": [{"port": 81, "targetPort": 30000}]}}')
        ports = yaml.safe_load(kubectl("get", "service", "k2", "-o", "yaml"))["spec"]["ports"]
        assert [port["port"] for port in ports] == [80, 81], "ports are merged by number"

    def test_a_dry_run_changes_nothing(self, server: ApiServer, kubectl: Kubectl) -> None:
        before = server.store.version
        made = endpoint_slice("a", [endpoint("10.0.0.1")])
        assert "server dry run" in kubectl("apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(made))
        assert server.store.version == before

    def test_get_watch(self, server: ApiServer, kube_tools: Path, kubeconfig: Path) -> None:
        server.put(endpoint_slice("a", [endpoint("10.0.0.1")]))
        command = [kube_tools / "kubectl", f"--kubeconfig={kubeconfig}", "get", "endpointslices"]
        options = ["--watch", "--output-watch-events", "-o", "jsonpath={.type} {.object.metadata.name}{'\\n'}"]
        process = subprocess.Popen([*map(str, command), *options], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline().strip()]
            server.put(endpoint_slice("b", None), endpoint_slice("a", None))
            server.remove(NAMESPACE, "b")
            lines += [process.stdout.readline().strip() for _ in range(3)]
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        assert lines == ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b"]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"addressType": "IPv5"}, "addressType: Unsupported value"),
            ({"endpoints": [{"addresses": []}]}, "must contain at least 1 address"),
            ({"endpoints": [{"addresses": ["2001:db8::1"]}]}, "must be a valid IPv4 address"),
        ],
    )
    def test_what_is_not_valid_is_refused(self, kubectl: Kubectl, change: dict[str, Any], said: str) -> None:
        made = {**endpoint_slice("a", []), **change}
        with pytest.raises(subprocess.CalledProcessError) as failed:
            kubectl("apply", "-f", "-", stdin=yaml.safe_dump(made))
        assert said in failed.value.stderr


class TestClient:
    def test_versions_and_conflicts(self, kubeconfig: Path) -> None:
        api = client_of(kubeconfig)
        made = api.create_namespaced_endpoint_slice(NAMESPACE, endpoint_slice("a", [endpoint("10.0.0.1")]))
        stale = made.metadata.resource_version
        with pytest.raises(ApiException) as twice:
            api.create_namespaced_endpoint_slice(NAMESPACE, endpoint_slice("a", []))
        assert refusal(twice) == (409, "AlreadyExists")
        changed = {**endpoint_slice("a", [endpoint("10.0.0.2")])}
        changed["metadata"]["resourceVersion"] = stale
        newer = api.replace_namespaced_endpoint_slice("a", NAMESPACE, changed)
        assert int(newer.metadata.resource_version) > int(stale)
        changed["endpoints"] = []
        with pytest.raises(ApiException) as conflict:
            api.replace_namespaced_endpoint_slice("a", NAMESPACE, changed)
        assert refusal(conflict) == (409, "Conflict")
        listed = api.list_namespaced_endpoint_slice(NAMESPACE)
        assert listed.metadata.resource_version == newer.metadata.resource_version
        with pytest.raises(ApiException) as missing:
            api.delete_namespaced_endpoint_slice("b", NAMESPACE)
        assert refusal(missing) == (404, "NotFound")

    def test_a_list_in_pages_is_of_one_version(self, server: ApiServer, kubeconfig: Path) -> None:
        api = client_of(kubeconfig)
        server.put(*(endpoint_slice(name, None) for name in "abcd"))
        first = api.list_namespaced_endpoint_slice(NAMESPACE, limit=2)
        server.remove(NAMESPACE, "c")
        server.put(endpoint_slice("e", None))
        second = api.list_namespaced_endpoint_slice(NAMESPACE, limit=2, _continue=first.metadata._continue)
        assert [it.metadata.name for it in (*first.items, *second.items)] == ["a", "b", "c", "d"]
        assert second.metadata.resource_version == first.metadata.resource_version
        server.store.compact()
        with pytest.raises(ApiException) as late:
            api.list_namespaced_endpoint_slice(NAMESPACE, limit=2, _continue=first.metadata._continue)
        assert refusal(late) == (410, "Expired")

    def test_a_watch_tells_all_in_order_and_ends(self, server: ApiServer, kubeconfig: Path) -> None:
        api = client_of(kubeconfig)
        version = api.list_namespaced_endpoint_slice(NAMESPACE).metadata.resource_version
        server.bookmark_seconds = 0.2
        server.put(endpoint_slice("a", []), endpoint_slice("a", [endpoint("10.0.0.1")]), endpoint_slice("other", []))
        relabelled = endpoint_slice("a", [], service="other")
        server.put(relabelled)
        server.remove(NAMESPACE, "other")
        seen = [
            (event["type"], event["raw_object"]["metadata"].get("name"))
            for event in watching(
                api.list_namespaced_endpoint_slice,
                NAMESPACE,
                resource_version=version,
                label_selector=f"kubernetes.io/service-name={SERVICE}",
                allow_watch_bookmarks=True,
                timeout_seconds=1,
            )
        ]
        changes = [event for event in seen if event[0] != "BOOKMARK"]
        assert changes == [
            ("ADDED", "a"),
            ("MODIFIED", "a"),
            ("ADDED", "other"),
            ("DELETED", "a"),  # It is there, but does not match any more.
            ("DELETED", "other"),
        ]
        assert len(seen) > len(changes)

    def test_a_watch_from_too_old_a_version(self, server: ApiServer, kubeconfig: Path) -> None:
        api = client_of(kubeconfig)
        server.put(endpoint_slice("a", []))
        server.store.compact()
        response: Any = api.list_namespaced_endpoint_slice(
            NAMESPACE, watch=True, resource_version="1", _preload_content=False
        )
        assert response.status == 200
        event = json.loads(response.data)
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")

    def test_who_may_not(self, server: ApiServer, tmp_path: Path) -> None:
        server.access.issue("weak", "system:serviceaccount:llm:weak")
        server.access.allow("system:serviceaccount:llm:weak", NAMESPACE, "endpointslices", "list")
        api = client_of(server.kubeconfig(tmp_path / "weak", token="weak"))
        assert api.list_namespaced_endpoint_slice(NAMESPACE).items == []
        attempts: list[Callable[[], Any]] = [
            lambda: api.list_namespaced_endpoint_slice("other"),
            lambda: api.list_endpoint_slice_for_all_namespaces(),
            lambda: api.list_namespaced_endpoint_slice(NAMESPACE, watch=True),
            lambda: api.delete_namespaced_endpoint_slice("a", NAMESPACE),
        ]
        for attempt in attempts:
            with pytest.raises(ApiException) as forbidden:
                attempt()
            assert refusal(forbidden) == (403, "Forbidden")
        server.access.expire("weak")
        with pytest.raises(ApiException) as expired:
            api.list_namespaced_endpoint_slice(NAMESPACE)
        assert refusal(expired) == (401, "Unauthorized")
