"""The engine pools: one profile, rendered twice."""

import copy
import json

import pytest

from tests.chart.cases import CASES, STARTING
from tests.chart.helm import Object, Rendered, Values, container, example, render, small

EACH = pytest.mark.parametrize("values", list(STARTING.values()), ids=list(STARTING))
SEED = [
    "--trust-remote-code",
    "--cuda-graph-max-bs-decode=128",
    "--disable-custom-all-reduce",
    "--attention-backend=flashinfer",
    "--flashinfer-allreduce-fusion-backend=auto",
    "--mem-fraction-static=0.88",
]


def models(rendered: Rendered) -> list[dict[str, Object]]:
    """The Deployments of each model, by role."""
    found: dict[str, dict[str, Object]] = {}
    for deployment in rendered.of_kind("Deployment", "engine"):
        labels = deployment["metadata"]["labels"]
        found.setdefault(labels["spillway/model"], {})[labels["spillway/pool"]] = deployment
    return list(found.values())


def spec(deployment: Object) -> Object:
    """The spec of its pods."""
    found = deployment["spec"]["template"]["spec"]
    assert isinstance(found, dict)
    return found


@EACH
def test_the_pools_differ_in_nothing_but_speculation(values: Values) -> None:
    given = [model for model in values["models"] if "engine" in model]
    for model, pools in zip(given, models(render(values)), strict=True):
        if set(pools) != {"speculative", "baseline"}:
            continue
        speculative, baseline = (copy.deepcopy(pools[role]["spec"]["template"]) for role in ("speculative", "baseline"))
        flags = model["engine"]["speculativeFlags"]
        args = speculative["spec"]["containers"][0]["args"]
        assert args[-len(flags) :] == flags
        del args[-len(flags) :]
        # Apart from their names for each other they are one.
        text = json.dumps(speculative).replace("speculative", "?").replace("baseline", "speculative")
        assert json.loads(text.replace("?", "baseline")) == baseline


def test_the_nodes_flags_are_those_of_the_measurements() -> None:
    rendered = render(example("k2-eagle3"))
    args = container(rendered.pool("Deployment", "baseline"))["args"]
    assert [flag for flag in args if flag in SEED] == SEED
    assert "--tp-size=8" in args
    assert "--model-path=/shared/kimi-k2.5-int4" in args
    assert "--max-running-requests=128" in args
    assert container(rendered.pool("Deployment", "speculative"))["args"] == [
        *args,
        "--speculative-algorithm=EAGLE3",
        "--speculative-draft-model-path=/shared/kimi-k2.5-eagle3",
        "--speculative-num-steps=2",
        "--speculative-eagle-topk=4",
        "--speculative-num-draft-tokens=16",
    ]


@EACH
def test_no_flag_is_given_twice(values: Values) -> None:
    for pools in models(render(values)):
        for deployment in pools.values():
            names = [flag.partition("=")[0] for flag in container(deployment)["args"]]
            assert len(set(names)) == len(names)


@EACH
def test_engines_have_fifteen_minutes_to_load(values: Values) -> None:
    for pools in models(render(values)):
        for deployment in pools.values():
            probe = container(deployment)["startupProbe"]
            assert probe["httpGet"] == {"path": "/health", "port": "http"}
            assert probe["periodSeconds"] * probe["failureThreshold"] >= 900
            assert (
                deployment["spec"]["progressDeadlineSeconds"] > 900 + spec(deployment)["terminationGracePeriodSeconds"]
            )


@EACH
def test_engines_have_time_to_finish(values: Values) -> None:
    rendered = render(values)
    drain = 120 if values is CASES["vllm"] else 600
    for pools in models(rendered):
        for deployment in pools.values():
            command = container(deployment)["lifecycle"]["preStop"]["exec"]["command"]
            assert command[0] == "sleep"
            assert spec(deployment)["terminationGracePeriodSeconds"] >= int(command[1]) + drain + 20


@pytest.mark.parametrize(
    ("engine", "grace"),
    [({"preStopSeconds": 0, "drainSeconds": 0}, 30), ({"preStopSeconds": 30, "drainSeconds": 100}, 160)],
)
def test_the_grace_period_follows_the_profile(engine: Values, grace: int) -> None:
    deployment = render(small(**engine)).pool("Deployment", "baseline")
    assert spec(deployment)["terminationGracePeriodSeconds"] == grace
    assert ("lifecycle" in container(deployment)) == bool(engine["preStopSeconds"])


def test_vllm_is_given_the_time_as_well() -> None:
    deployment = render(CASES["vllm"]).pool("Deployment", "speculative")
    assert container(deployment)["command"] == ["vllm", "serve"]
    assert container(deployment)["args"][0] == "/models/Llama-3.1-8B-Instruct"
    assert "--shutdown-timeout=120" in container(deployment)["args"]
    assert spec(deployment)["terminationGracePeriodSeconds"] == 120 + 15 + 30


@EACH
def test_gpus_are_those_of_the_parallelism(values: Values) -> None:
    for pools in models(render(values)):
        for deployment in pools.values():
            resources = container(deployment)["resources"]
            args = container(deployment)["args"]
            [size] = [
                int(flag.rpartition("=")[2])
                for flag in args
                if flag.partition("=")[0].endswith(("tp-size", "parallel-size"))
            ]
            assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == size


@EACH
def test_engines_may_little(values: Values) -> None:
    for pools in models(render(values)):
        for deployment in pools.values():
            assert spec(deployment)["automountServiceAccountToken"] is False
            assert spec(deployment)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert container(deployment)["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }


def test_shared_memory_is_sized() -> None:
    deployment = render(example("k2-eagle3")).pool("Deployment", "baseline")
    assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}} in spec(deployment)["volumes"]
    assert {"name": "shm", "mountPath": "/dev/shm"} in container(deployment)["volumeMounts"]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"claimName": "models"}, {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}),
        ({"claimName": "", "hostPath": "/srv"}, {"hostPath": {"path": "/srv", "type": "Directory"}}),
        ({"claimName": "", "hostPath": ""}, None),
    ],
)
def test_the_model_comes_from_a_claim_or_the_node_or_elsewhere(volume: Values, expected: Object | None) -> None:
    deployment = render(small(modelVolume=volume)).pool("Deployment", "baseline")
    volumes = {it.pop("name"): it for it in copy.deepcopy(spec(deployment)["volumes"])}
    assert volumes.get("model") == expected
    mounts = {it["name"]: it for it in container(deployment)["volumeMounts"]}
    assert mounts.get("model", {}).get("readOnly") == (True if expected else None)


@pytest.mark.parametrize("kind", ["required", "preferred", "none"])
def test_the_pools_of_a_model_keep_off_each_others_nodes(kind: str) -> None:
    for role, other in (("speculative", "baseline"), ("baseline", "speculative")):
        deployment = render(small(antiAffinity=kind)).pool("Deployment", role)
        rules = spec(deployment).get("affinity", {}).get("podAntiAffinity", {})
        if kind == "none":
            assert rules == {}
            continue
        [[term]] = rules.values()
        term = term.get("podAffinityTerm", term)
        assert list(rules) == [f"{kind}DuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"]["matchLabels"]["spillway/pool"] == other
        labels = render(small(antiAffinity=kind)).pool("Deployment", other)["spec"]["template"]["metadata"]["labels"]
        assert term["labelSelector"]["matchLabels"].items() <= labels.items()


def test_a_profiles_own_affinity_stays() -> None:
    affinity = spec(render(CASES["everything"]).pool("Deployment", "baseline"))["affinity"]
    assert set(affinity) == {"nodeAffinity", "podAntiAffinity"}
    own = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "noisy"}}}]
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    values = small(antiAffinity="required", affinity={"podAntiAffinity": {key: own}})
    terms = spec(render(values).pool("Deployment", "baseline"))["affinity"]["podAntiAffinity"][key]
    assert terms[:1] == own
    assert len(terms) == 2


def test_probes_cost_no_token_unless_asked_for() -> None:
    name = "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"
    assert {"name": name, "value": "0"} in container(render(small()).pool("Deployment", "baseline"))["env"]
    given = container(render(small(env=[{"name": name, "value": "1"}])).pool("Deployment", "baseline"))["env"]
    assert given == [{"name": name, "value": "1"}]
    assert "env" not in container(render(CASES["vllm"]).pool("Deployment", "baseline"))


def test_defaults_lie_under_each_model() -> None:
    values = example("small")
    values["modelDefaults"] = {
        "engine": {"image": {"tag": "mine"}, "nodeSelector": {"gpu": "yes"}, "antiAffinity": "required"},
        "pool": {"replicas": 3, "maxSurge": 1},
    }
    values["models"][0]["pools"] = {"speculative": {"replicas": 0, "maxSurge": 0}, "baseline": {}}
    [pools] = models(render(values))
    assert container(pools["baseline"])["image"] == "lmsysorg/sglang:mine"
    assert spec(pools["baseline"])["nodeSelector"] == {"gpu": "yes"}
    assert "affinity" not in spec(pools["baseline"])
    assert (pools["baseline"]["spec"]["replicas"], pools["speculative"]["spec"]["replicas"]) == (3, 0)
    assert pools["baseline"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert pools["speculative"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_a_budget_spans_both_pools_of_a_model() -> None:
    rendered = render(CASES["several models"])
    budgets = rendered.of_kind("PodDisruptionBudget", "engine")
    assert [it["spec"]["maxUnavailable"] for it in budgets] == [1, 1]
    for pools in models(rendered):
        for deployment in pools.values():
            labels = deployment["spec"]["template"]["metadata"]["labels"]
            # Two budgets for one pod would forbid its eviction for ever.
            matching = [it for it in budgets if it["spec"]["selector"]["matchLabels"].items() <= labels.items()]
            assert len(matching) == 1


@pytest.mark.parametrize(
    ("rollout", "paused"),
    [
        ("both", set()),
        ("baseline", {"speculative"}),
        ("speculative", {"baseline"}),
        ("none", {"speculative", "baseline"}),
    ],
)
def test_one_pool_can_be_rolled_alone(rollout: str, paused: set[str]) -> None:
    [pools] = models(render(example("small") | {"engines": {"rollout": rollout}}))
    assert {role for role, it in pools.items() if it["spec"].get("paused")} == paused


def test_a_pool_scales_by_the_replicas_that_its_requests_fill() -> None:
    rendered = render(CASES["everything"])
    scaled = rendered.one("ScaledObject")
    deployment = rendered.pool("Deployment", "baseline")
    assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert "replicas" not in deployment["spec"]
    assert "replicas" in rendered.pool("Deployment", "speculative")["spec"]
    assert (scaled["spec"]["minReplicaCount"], scaled["spec"]["maxReplicaCount"]) == (1, 3)
    [trigger] = scaled["spec"]["triggers"]
    labels = '{namespace="llm",model="kimi-k2.5",pool="baseline"}'
    assert trigger["metadata"]["query"] == (
        f"sum(spillway_inflight{labels}) / (max(spillway_pool_limit{labels}) / max(spillway_ready_replicas{labels}))"
    )
    assert trigger["metadata"]["threshold"] == "0.8"


def test_an_engine_is_where_its_service_says() -> None:
    rendered = render(small(port=31000))
    for role in ("speculative", "baseline"):
        service, deployment = rendered.pool("Service", role), rendered.pool("Deployment", role)
        assert service["metadata"]["name"] == deployment["metadata"]["name"]
        assert service["spec"]["clusterIP"] == "None"
        assert "--port=31000" in container(deployment)["args"]
        assert container(deployment)["ports"] == [{"name": "http", "containerPort": 31000}]
