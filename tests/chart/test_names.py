"""Names and labels that a cluster takes, whatever the release and its models are called."""

import re
from collections.abc import Iterator

import pytest
import yaml

from tests.chart.helm import CHART, HelmError, Object, Values, example, run

# What the API server asks of the names of Services, and of labels' values.
SERVICE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def objects(release: str, values: Values, namespace: str = "llm") -> list[Object]:
    text = run("template", release, str(CHART), "--namespace", namespace, values=yaml.safe_dump(values))
    return [it for it in yaml.safe_load_all(text) if it]


def named(release: str, values: Values, namespace: str = "llm") -> set[tuple[str, str, str]]:
    return {
        (it["kind"], it["metadata"]["namespace"], it["metadata"]["name"]) for it in objects(release, values, namespace)
    }


def labels(node: object) -> Iterator[str]:
    """The values of all labels and selectors."""
    if isinstance(node, dict):
        for name, inner in node.items():
            if name in ("labels", "matchLabels") and isinstance(inner, dict):
                yield from map(str, inner.values())
            yield from labels(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from labels(inner)


def many_names() -> Values:
    values = example("small") | {"redis": {"bundled": {"enabled": True}}}
    [model] = values["models"]
    long = "organisation/" + "very-long-" * 20
    values["models"] = [
        model | {"name": name, "aliases": []} for name in ("模型", "型模", "7B", long, long + "x", "a..b")
    ]
    return values


@pytest.mark.parametrize("release", ["a" * 53, "spillway." + "b" * 44, "s.p", "x-" * 26 + "x"])
def test_names_and_labels_are_valid(release: str) -> None:
    made = objects(release, many_names(), "n" * 63)
    names = [(it["kind"], it["metadata"]["name"]) for it in made]
    assert len(set(names)) == len(names)
    for _, name in names:
        assert SERVICE.fullmatch(name), name
    for value in labels(made):
        assert LABEL.fullmatch(value), value


@pytest.mark.parametrize(
    ("one", "other"), [("a" * 52 + "b", "a" * 52 + "c"), ("spillway" + "a" * 45, "spillway" + "a" * 44)]
)
def test_releases_of_one_namespace_are_kept_apart(one: str, other: str) -> None:
    assert not named(one, many_names()) & named(other, many_names())


def test_releases_that_watch_one_namespace_are_kept_apart() -> None:
    values = example("byo-engines")
    first, second = (named("rel", values, f"{'team-' * 10}{end}") for end in "ab")
    assert not first & second
    assert {namespace for _, namespace, _ in first} >= {"llm"}


def test_a_name_that_no_service_may_have_is_refused() -> None:
    with pytest.raises(HelmError, match="must begin with a letter: set fullnameOverride"):
        objects("7b", example("small"))
    assert objects("7b", example("small") | {"fullnameOverride": "seven"})
