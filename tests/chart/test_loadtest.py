"""The load test in the cluster: one Job, or a master and workers, with arguments that the program takes."""

import kubernetes_validate
import pytest
import yaml

from loadtest.cli import main
from tests.chart.helm import Object, Values, container, example, refusal, render

LOAD: Values = {"enabled": True, "args": ["--shape=poisson", "--rate=4", "--duration=60", "--arrival-users=3"]}


def values(**loadtest: object) -> Values:
    return example("byo-engines") | {"loadtest": LOAD | loadtest}


def jobs(given: Values) -> dict[str, Object]:
    """The Jobs by the end of their names."""
    found = render(given).of_kind("Job")
    return {job["metadata"]["name"].rpartition("-")[2]: job for job in found}


def test_there_is_none_by_default() -> None:
    assert render(example("byo-engines")).of_kind("Job") == []


def test_locust_alone() -> None:
    [job] = jobs(values()).values()
    args = container(job)["args"]
    assert args[0] == "locust"
    assert args[args.index("--host") + 1] == "http://rel-spillway.llm:80"
    assert args[-4:] == LOAD["args"]
    assert not {"--master", "--worker"} & set(args)
    assert container(job)["image"].startswith("spillway-loadtest:")


def test_a_master_and_its_workers() -> None:
    rendered = render(values(workers=3))
    master, workers = rendered.of_kind("Job")
    [service] = list(rendered.of_kind("Service", "test"))
    assert workers["metadata"]["name"] == master["metadata"]["name"] + "-workers"
    assert workers["spec"]["parallelism"] == workers["spec"]["completions"] == 3
    args = container(workers)["args"]
    assert args[args.index("--master-host") + 1] == service["metadata"]["name"]
    assert "--expect-workers" in container(master)["args"]
    assert set(LOAD["args"]) <= set(args) & set(container(master)["args"])  # both need to know the shape
    selected = service["spec"]["selector"].items()
    assert selected <= master["spec"]["template"]["metadata"]["labels"].items()
    assert not selected <= workers["spec"]["template"]["metadata"]["labels"].items()


def test_the_sweep_knows_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    [job] = jobs(values(command="sweep", args=["--levels=1,2", "--model=k2"], workers=3)).values()
    args = container(job)["args"]
    assert args[0] == "sweep"
    monkeypatch.setattr("loadtest.cli._sweep", lambda parsed, _: int(parsed.url != "http://rel-spillway.llm:80"))
    assert main(args) == 0


def test_keys_results_and_places() -> None:
    given = values(
        apiKeySecret={"name": "client", "key": "k"}, resultsClaim="results", nodeSelector={"pool": "cpu"}, workers=1
    )
    master, workers = render(given).of_kind("Job")
    for job in (master, workers):
        [variable] = container(job)["env"]
        assert variable["valueFrom"]["secretKeyRef"] == {"name": "client", "key": "k"}
        assert job["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "cpu"}
    volumes = [job["spec"]["template"]["spec"]["volumes"][0] for job in (master, workers)]
    assert volumes[0]["persistentVolumeClaim"] == {"claimName": "results"}
    assert volumes[1]["emptyDir"] == {}


def test_what_changes_makes_another_job() -> None:
    first, second, third = (next(iter(jobs(given))) for given in (values(), values(workers=0), values(args=[])))
    assert first == second != third


def test_over_tls_and_through_the_network_policy() -> None:
    given = values() | {"tls": {"secretName": "cert"}, "networkPolicy": {"clients": [{"podSelector": {}}]}}
    rendered = render(given)
    [job] = rendered.of_kind("Job")
    assert "https://rel-spillway.llm:80" in container(job)["args"]
    [policy] = list(rendered.of_kind("NetworkPolicy", "gateway"))
    allowed = policy["spec"]["ingress"][0]["from"][-1]["podSelector"]["matchLabels"]
    assert allowed.items() <= job["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("wrong", [{"command": "wrk"}, {"workers": -1}, {"args": "--peak=3"}])
def test_refused(wrong: Values) -> None:
    assert "loadtest" in refusal(yaml.safe_load(yaml.safe_dump(values(**wrong))))


@pytest.mark.parametrize("version", ["1.27", "1.37"])
def test_objects_are_valid(version: str) -> None:
    given = values(workers=2, apiKeySecret={"name": "client"}, resultsClaim="results")
    for rendered in render(given, flags=["--kube-version", version]):
        assert kubernetes_validate.validate(rendered, version, strict=True) == version
