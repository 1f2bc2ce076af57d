"""The gateway's own objects."""

import pytest

from tests.chart.cases import CASES
from tests.chart.helm import NAMESPACE, RELEASE, Object, Values, container, example, refusal, render

EACH = pytest.mark.parametrize("values", list(CASES.values()), ids=list(CASES))


def pod(values: Values) -> Object:
    """The spec of the gateway's pods."""
    found = render(values).one("Deployment", "gateway")["spec"]["template"]["spec"]
    assert isinstance(found, dict)
    return found


@EACH
def test_it_runs_with_nothing_it_does_not_need(values: Values) -> None:
    for found in (pod(values), render(values).one("Pod")["spec"]):
        assert found["securityContext"]["runAsNonRoot"] is True
        assert found["securityContext"]["runAsUser"] > 0
        assert found["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        [only] = found["containers"]
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(only["resources"]) == {"requests", "limits"}
        assert "cpu" not in only["resources"]["limits"]


def test_probes_ask_for_life_and_readiness() -> None:
    gateway = container(render(example("byo-engines")).one("Deployment", "gateway"))
    asked = {name: gateway[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in asked.items()} == {
        "startup": "/health",
        "liveness": "/health",
        "readiness": "/ready",
    }
    assert {probe["port"] for probe in asked.values()} == {"http"}


@EACH
def test_rights_are_to_read_endpoint_slices_where_engines_are(values: Values) -> None:
    rendered = render(values)
    roles, bindings = rendered.of_kind("Role"), rendered.of_kind("RoleBinding")
    assert not rendered.of_kind("ClusterRole")
    for role in roles:
        assert role["rules"] == [
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}
        ]
    account = pod(values)["serviceAccountName"]
    assert [(it["metadata"]["namespace"], it["roleRef"]["name"]) for it in bindings] == [
        (it["metadata"]["namespace"], it["metadata"]["name"]) for it in roles
    ]
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]
    if values.get("gateway", {}).get("rbac", {}).get("create", True):
        assert {it["metadata"]["namespace"] for it in roles} == _watched(values)


def _watched(values: Values) -> set[str]:
    pools = [pool for model in values["models"] for pool in model["pools"].values()]
    found = {pool["discovery"].get("kubernetes", {}).get("namespace") for pool in pools if "discovery" in pool}
    started = {NAMESPACE for pool in pools if "discovery" not in pool}
    return (found - {None}) | started


def test_rights_are_given_in_other_namespaces_too() -> None:
    values = example("byo-engines")
    kubernetes = values["models"][0]["pools"]["baseline"]["discovery"]["kubernetes"]
    kubernetes["namespace"] = "elsewhere"
    rendered = render(values)
    names = {it["metadata"]["namespace"]: it["metadata"]["name"] for it in rendered.of_kind("Role")}
    # Named for the release's namespace there: releases of the same name elsewhere may watch it too.
    assert names == {NAMESPACE: f"{RELEASE}-spillway", "elsewhere": f"{RELEASE}-spillway-{NAMESPACE}"}


def test_a_token_is_mounted_only_to_watch() -> None:
    assert pod(CASES["static only"])["automountServiceAccountToken"] is False
    assert pod(example("byo-engines"))["automountServiceAccountToken"] is True
    assert not render(CASES["static only"]).of_kind("Role")
    assert render(CASES["static only"]).one("ServiceAccount")["automountServiceAccountToken"] is False


def test_the_configuration_is_mounted_as_a_folder() -> None:
    """A file mounted by subPath would never change."""
    spec = pod(example("byo-engines"))
    [gateway] = spec["containers"]
    assert gateway["command"] == ["spillway"]
    assert gateway["args"] == ["serve", "--config", "/etc/spillway/spillway.yaml"]
    assert {"name": "config", "mountPath": "/etc/spillway", "readOnly": True} in gateway["volumeMounts"]
    assert not any("subPath" in mount for mount in gateway["volumeMounts"])


def test_keys_are_mounted_as_a_folder() -> None:
    spec = pod(CASES["everything"])
    [keys] = [it["secret"] for it in spec["volumes"] if it["name"] == "keys"]
    assert keys["secretName"] == "client-keys"
    assert {"name": "keys", "mountPath": "/etc/spillway-keys", "readOnly": True} in spec["containers"][0][
        "volumeMounts"
    ]


def test_the_image_is_the_charts_version_unless_named() -> None:
    assert container(render(example("byo-engines")).one("Deployment"))["image"] == "spillway:0.1.0"
    tagged = example("byo-engines") | {"image": {"repository": "r.example.com/s", "tag": "7"}}
    assert container(render(tagged).one("Deployment"))["image"] == "r.example.com/s:7"
    image = container(render(CASES["everything"]).one("Deployment", "gateway"))["image"]
    assert image == f"registry.example.com/spillway@sha256:{'0' * 64}"
    assert container(render(CASES["everything"]).one("Pod"))["image"] == image


def test_gateways_are_replaced_without_a_gap() -> None:
    deployment = render(example("byo-engines")).one("Deployment")
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert render(example("byo-engines")).one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_gateways_are_spread() -> None:
    rendered = render(example("byo-engines"))
    deployment = rendered.one("Deployment")
    rules = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert [rule["topologyKey"] for rule in rules] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    for rule in rules:
        assert rule["labelSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]


def test_an_autoscaler_takes_the_place_of_replicas() -> None:
    rendered = render(CASES["everything"])
    deployment = rendered.one("Deployment", "gateway")
    assert "replicas" not in deployment["spec"]
    assert rendered.one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert render(example("byo-engines")).one("Deployment")["spec"]["replicas"] == 1


def test_the_ingress_streams() -> None:
    rendered = render(CASES["everything"])
    ingress = rendered.one("Ingress")
    annotations = ingress["metadata"]["annotations"]
    for name in ("proxy-buffering", "proxy-request-buffering"):
        assert annotations[f"nginx.ingress.kubernetes.io/{name}"] == "off"
    assert annotations["nginx.org/proxy-buffering"] == "False"
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == "1g"
    [rule] = ingress["spec"]["rules"]
    assert rule["host"] == "llm.example.com"
    service = rendered.one("Service", "gateway")["metadata"]["name"]
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": service, "port": {"name": "http"}}
    assert "host" not in render(CASES["tls"]).one("Ingress")["spec"]["rules"][0]


def test_a_load_balancer_of_aws_waits_as_long_as_it_can() -> None:
    annotations = render(CASES["tls"]).one("Ingress")["metadata"]["annotations"]
    attributes = annotations["alb.ingress.kubernetes.io/load-balancer-attributes"]
    assert attributes == "idle_timeout.timeout_seconds=2136"
    assert annotations["alb.ingress.kubernetes.io/backend-protocol"] == "HTTPS"
    long = CASES["tls"] | {"config": {"limits": {"first_byte_seconds": 6000}}}
    annotations = render(long).one("Ingress")["metadata"]["annotations"]
    assert annotations["alb.ingress.kubernetes.io/load-balancer-attributes"] == "idle_timeout.timeout_seconds=4000"


def test_an_ingress_of_another_controller_has_no_annotations() -> None:
    values = example("byo-engines") | {"ingress": {"enabled": True, "controller": "none"}}
    assert "annotations" not in render(values).one("Ingress")["metadata"]


def test_the_route_does_not_end_streams() -> None:
    rendered = render(CASES["everything"])
    route = rendered.one("HTTPRoute")
    [rule] = route["spec"]["rules"]
    assert rule["timeouts"] == {"request": "0s", "backendRequest": "0s"}
    assert rule["backendRefs"] == [{"name": rendered.one("Service", "gateway")["metadata"]["name"], "port": 8000}]
    assert "httpRoute.parentRefs is empty" in refusal(example("byo-engines") | {"httpRoute": {"enabled": True}})


def test_clients_reach_the_gateway_and_only_monitoring_its_metrics() -> None:
    spec = render(example("byo-engines")).one("NetworkPolicy")["spec"]
    assert spec["policyTypes"] == ["Ingress"]
    everybody, monitoring = spec["ingress"]
    assert everybody == {"ports": [{"port": "http"}]}
    assert monitoring["ports"] == [{"port": "admin"}]
    [peer] = monitoring["from"]
    [expression] = peer["namespaceSelector"]["matchExpressions"]
    assert expression["values"] == ["monitoring"]


def test_nobody_reaches_metrics_if_no_namespace_may() -> None:
    """An empty `from` would be everybody."""
    values = example("small") | {"networkPolicy": {"monitoringNamespaces": []}}
    for policy in render(values).of_kind("NetworkPolicy"):
        for rule in policy["spec"]["ingress"]:
            assert rule["ports"] == [{"port": "http"}]
            assert rule.get("from", [1])


def test_engines_take_requests_from_gateways_alone() -> None:
    rendered = render(example("small"))
    [rule] = rendered.one("NetworkPolicy", "engine")["spec"]["ingress"]
    gateways, monitoring = rule["from"]
    assert gateways["podSelector"] == rendered.one("Deployment", "gateway")["spec"]["selector"]
    assert set(monitoring) == {"namespaceSelector"}
    assert not render(example("byo-engines")).of_kind("NetworkPolicy", "engine")


def test_narrowed_policies_let_pass_what_must() -> None:
    rendered = render(CASES["everything"])
    spec = rendered.one("NetworkPolicy", "gateway")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    test_labels = rendered.one("Pod")["metadata"]["labels"]
    assert spec["ingress"][0]["from"][1]["podSelector"]["matchLabels"].items() <= test_labels.items()
    dns, api_server, engines, extra = spec["egress"]
    assert [port["port"] for port in dns["ports"]] == [53, 53]
    assert [port["port"] for port in api_server["ports"]] == [443, 6443]
    for deployment in rendered.of_kind("Deployment", "engine"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert engines["to"][0]["podSelector"]["matchLabels"].items() <= labels.items()
    assert extra == {"to": [{"ipBlock": {"cidr": "10.0.0.0/24"}}]}


def test_the_gateway_may_reach_engines_of_other_namespaces() -> None:
    values = example("byo-engines") | {"networkPolicy": {"egress": {"enabled": True}}}
    for model in values["models"][:1]:
        for pool in model["pools"].values():
            pool["discovery"]["kubernetes"]["namespace"] = "engines"
    *_, elsewhere = render(values).one("NetworkPolicy")["spec"]["egress"]
    [expression] = elsewhere["to"][0]["namespaceSelector"]["matchExpressions"]
    assert expression["values"] == ["engines"]
