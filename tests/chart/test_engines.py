"""The engine pools: one profile, rendered twice."""

import copy
import json
import subprocess
import sys

import pytest

from tests.chart.cases import CASES, STARTING
from tests.chart.helm import Object, Rendered, Values, container, example, plain, render, small

EACH = pytest.mark.parametrize("values", list(STARTING.values()), ids=list(STARTING))


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


def launched(deployment: Object) -> list[str]:
    """The command line of an engine: what the container is told, or what the image makes of it, on eight such GPUs."""
    it = container(deployment)
    if it["command"] != ["spillway-engine", "run"]:
        return [*it["command"], *it["args"]]
    arguments = [argument for argument in it["args"] if not argument.startswith("--allow=")]
    command = [sys.executable, "-m", "spillway_engine", "render", "--json", *arguments]
    return list(json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["command"])


@EACH
def test_the_pools_differ_in_nothing_but_speculation(values: Values) -> None:
    for pools in models(render(values)):
        if set(pools) != {"speculative", "baseline"}:
            continue
        speculative, baseline = (copy.deepcopy(pools[role]["spec"]["template"]) for role in ("speculative", "baseline"))
        commands = [launched(pools[role]) for role in ("speculative", "baseline")]
        assert commands[0][: len(commands[1])] == commands[1]
        own = commands[0][len(commands[1]) :]
        assert own
        assert all(flag.startswith("--speculative-") for flag in own)
        for template in (speculative, baseline):
            del template["spec"]["containers"][0]["args"]
        # Apart from their names for each other they are one.
        text = json.dumps(speculative).replace("speculative", "?").replace("baseline", "speculative")
        assert json.loads(text.replace("?", "baseline")) == baseline


def test_the_image_renders_the_profile_that_is_named() -> None:
    rendered = render(example("k2-eagle3"))
    assert container(rendered.pool("Deployment", "speculative"))["args"] == [
        "kimi-k2.5/eagle3-tree",
        "--model-path=/shared/kimi-k2.5-int4",
        "--draft-model-path=/shared/kimi-k2.5-eagle3",
        "--served-model-name=kimi-k2.5",
        "--host=0.0.0.0",
        "--port=30000",
        "--gpus=8",
        "--max-running-requests=128",
    ]
    baseline = container(rendered.pool("Deployment", "baseline"))
    assert baseline["args"][0] == "kimi-k2.5/baseline"
    assert baseline["image"] == "spillway-sglang:0.1.0-sglang0.5.23"


def test_the_nodes_flags_are_those_of_the_measurements() -> None:
    rendered = render(example("k2-eagle3"))
    baseline = launched(rendered.pool("Deployment", "baseline"))
    for flag in (
        "--trust-remote-code",
        "--cuda-graph-max-bs-decode=128",
        "--disable-custom-all-reduce",
        "--mem-fraction-static=0.88",
        "--tp-size=8",
        "--model-path=/shared/kimi-k2.5-int4",
        "--max-running-requests=128",
    ):
        assert flag in baseline
    assert launched(rendered.pool("Deployment", "speculative")) == [
        *baseline,
        "--speculative-algorithm=EAGLE3",
        "--speculative-draft-model-path=/shared/kimi-k2.5-eagle3",
        "--speculative-num-steps=2",
        "--speculative-eagle-topk=4",
        "--speculative-num-draft-tokens=16",
    ]


def test_what_is_set_beside_a_profile_reaches_the_engine() -> None:
    rendered = render(CASES["everything"])
    baseline, speculative = (launched(rendered.pool("Deployment", role)) for role in ("baseline", "speculative"))
    assert "--attention-backend=flashinfer" in baseline
    assert "--reasoning-parser=kimi_k2" not in baseline
    assert "--speculative-num-steps=1" in speculative
    assert "--allow=flashinfer-mla-tree" in container(rendered.pool("Deployment", "speculative"))["args"]


def test_an_image_of_others_gets_its_whole_command_line() -> None:
    rendered = render(plain())
    baseline = launched(rendered.pool("Deployment", "baseline"))
    assert baseline[:3] == ["python3", "-m", "sglang.launch_server"]
    assert {"--model-path=/models/Llama-3.1-8B-Instruct", "--tp-size=1", "--attention-backend=triton"} <= set(baseline)
    it = container(rendered.pool("Deployment", "baseline"))
    assert it["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "15"]


@EACH
def test_no_flag_is_given_twice(values: Values) -> None:
    for pools in models(render(values)):
        for deployment in pools.values():
            names = [flag.partition("=")[0] for flag in launched(deployment)]
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
            assert command[:2] == ["spillway-engine", "pre-stop"] or command[0] == "sleep"
            longest = int(command[-1].removeprefix("--most="))
            assert spec(deployment)["terminationGracePeriodSeconds"] >= longest + drain + 20


@pytest.mark.parametrize(
    ("engine", "grace"),
    [({"preStopSeconds": 0, "drainSeconds": 0}, 30), ({"preStopSeconds": 30, "drainSeconds": 100}, 190)],
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
            [size] = [
                int(flag.rpartition("=")[2])
                for flag in launched(deployment)
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
        "engine": {"image": {"pullPolicy": "Never"}, "nodeSelector": {"gpu": "yes"}, "antiAffinity": "required"},
        "pool": {"replicas": 3, "maxSurge": 1},
    }
    values["models"][0]["pools"] = {"speculative": {"replicas": 0, "maxSurge": 0}, "baseline": {}}
    [pools] = models(render(values))
    assert container(pools["baseline"])["imagePullPolicy"] == "Never"
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
