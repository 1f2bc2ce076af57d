"""The chart's README, its notes and the page about Kubernetes agree with the chart."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.chart import reference
from tests.chart.cases import CASES
from tests.chart.helm import CHART, EXAMPLES, NAMESPACE, REPOSITORY, Values, example, run

PAGE = REPOSITORY / "docs" / "kubernetes.md"
PAGES = [PAGE, reference.README]
COMMANDS = [
    command.replace("\\\n", " ")
    for page in PAGES
    for command in re.findall(r"^ {4,}(helm (?:install|upgrade) .*(?:\n {6,}.*)*)", page.read_text(), re.MULTILINE)
]


def test_the_table_is_that_of_the_values() -> None:
    text = reference.README.read_text()
    assert text == reference.written(text), "run: python -m tests.chart.reference"


def test_every_value_is_in_the_table() -> None:
    text = (CHART / "values.yaml").read_text()
    listed = {value.path for value in reference.documented(text)}
    for path in _leaves(yaml.safe_load(text)):
        steps = path.split(".")
        assert any(".".join(steps[:end]) in listed for end in range(1, len(steps) + 1)), path


def _leaves(values: object, path: str = "") -> list[str]:
    if not isinstance(values, dict) or not values:
        return [path]
    return [leaf for name, value in values.items() for leaf in _leaves(value, f"{path}.{name}" if path else name)]


def test_the_page_installs_and_upgrades() -> None:
    assert len([command for command in COMMANDS if command.startswith("helm install")]) >= 3
    assert len([command for command in COMMANDS if command.startswith("helm upgrade")]) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pages_render(command: str) -> None:
    _, _, *arguments = shlex.split(command)
    unrendered = ("--wait", "--timeout=20m", "--create-namespace", "--reset-then-reuse-values")
    arguments = [it for it in arguments if it not in unrendered]
    files = [it for it in arguments if it.endswith(".yaml")]
    for file in files:
        # Those that are not the chart's are the reader's own.
        assert REPOSITORY / file in EXAMPLES or file == "values.yaml", file
    own = str(CHART / "examples" / "small.yaml")
    if not files:
        arguments += ["--values", own]
    replaced = [
        own if it == "values.yaml" else str(REPOSITORY / it) if it.startswith("deploy/") else it for it in arguments
    ]
    assert "kind: Deployment" in run("template", *replaced)


def test_values_of_the_page_render() -> None:
    blocks = re.findall(r"(?:^ {4}(?:config:\n| {2}.*\n|redis:\n))+", PAGE.read_text(), re.MULTILINE)
    [shown] = [yaml.safe_load(block) for block in blocks if "config:" in block]
    rendered = run("template", "rel", str(CHART), values=yaml.safe_dump(example("small") | shown))
    assert "mode: sentinel" in rendered
    assert "name: redis-ca" in rendered


def test_deployments_that_the_page_names_exist() -> None:
    named = set(re.findall(r"deployment/([\w-]+)", PAGE.read_text()))
    k2 = str(CHART / "examples" / "k2-eagle3.yaml")
    rendered = yaml.safe_load_all(run("template", "spillway", str(CHART), "--values", k2))
    assert named
    assert named <= {it["metadata"]["name"] for it in rendered if it["kind"] == "Deployment"}


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_each_example_is_named(path: Path) -> None:
    for page in PAGES:
        assert f"examples/{path.name}" in page.read_text()


def notes(values: Values) -> str:
    """What helm says after an installation."""
    flags = ("--namespace", NAMESPACE, "--dry-run=client")
    return run("install", "rel", str(CHART), *flags, values=yaml.safe_dump(values)).partition("\nNOTES:\n")[2]


def test_the_notes_tell_the_next_three_commands() -> None:
    text = notes(example("small"))
    assert "kubectl -n llm rollout status deployment/rel-spillway --timeout=20m" in text
    assert "helm test -n llm rel --logs" in text
    assert "kubectl -n llm port-forward svc/rel-spillway 8080:80 &" in text
    assert '"model": "llama-3.1-8b"' in text
    assert "which can take 15 minutes" in text
    assert "set auth.keysSecret.name" in text


def test_the_notes_tell_what_to_mind() -> None:
    text = notes(CASES["everything"])
    assert "engines.rollout is baseline" in text
    assert "WARNING: there is more than one gateway, and no Redis." in text
    assert "authorization: Bearer" in text
    assert "set auth.keysSecret.name" not in text
    text = notes(CASES["tls"])
    assert "curl -k -N https://localhost:8080" in text
    assert "which can take 15 minutes" not in text
    text = notes(CASES["bundled Redis"])
    assert "WARNING" not in text
    assert "It is one pod, for trials" in text
    assert "WARNING" not in notes(CASES["Sentinels"])
    assert "WARNING: gateway.replicas is 0, so no gateway runs" in notes(
        example("small") | {"gateway": {"replicas": 0}}
    )
