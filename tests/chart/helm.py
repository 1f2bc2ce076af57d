"""Runs helm on the chart, and looks at what it renders."""

import functools
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "deploy" / "helm" / "spillway"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
HELM = REPOSITORY / ".cache" / "bin" / "helm"
RELEASE = "rel"
NAMESPACE = "llm"

Object = dict[str, Any]
Values = dict[str, Any]


class HelmError(Exception):
    """helm refused; the text is what it said."""


def run(*arguments: str, values: str = "") -> str:
    """Run helm with `values`, if any, as its values file, and return what it prints.

    Raises:
        HelmError: its exit status was not 0.
    """
    if values:
        arguments = (*arguments, "--values", "-")
    done = subprocess.run([HELM, *arguments], input=values, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise HelmError(done.stderr)
    return done.stdout


@dataclass(frozen=True)
class Rendered:
    """Everything one rendering contains."""

    objects: tuple[Object, ...]

    def __iter__(self) -> Iterator[Object]:
        return iter(self.objects)

    def of_kind(self, kind: str, component: str | None = None) -> list[Object]:
        """The objects of a kind, of one component or of all."""
        label = "app.kubernetes.io/component"
        found = [it for it in self.objects if it["kind"] == kind]
        return [it for it in found if component is None or it["metadata"]["labels"].get(label) == component]

    def one(self, kind: str, component: str | None = None) -> Object:
        """The only object of a kind."""
        [found] = self.of_kind(kind, component)
        return found

    def pool(self, kind: str, role: str) -> Object:
        """The only object of a kind that belongs to a pool of this role."""
        [found] = [it for it in self.of_kind(kind) if it["metadata"]["labels"].get("spillway/pool") == role]
        return found


def render(values: Values | None = None, *, chart: Path = CHART, flags: Sequence[str] = ()) -> Rendered:
    """Render the chart with these values.

    Raises:
        HelmError: it refuses them.
    """
    # As JSON: helm reads the YAML of another version than Python writes, with other words that are numbers.
    return _render(json.dumps(values or {}), chart, tuple(flags))


@functools.cache
def _render(values: str, chart: Path, flags: tuple[str, ...]) -> Rendered:
    text = run("template", RELEASE, str(chart), "--namespace", NAMESPACE, *flags, values=values)
    return Rendered(tuple(it for it in yaml.safe_load_all(text) if it))


def refusal(values: Values) -> str:
    """What helm says when it refuses these values. Raises AssertionError if it takes them."""
    try:
        render(values)
    except HelmError as error:
        return str(error)
    raise AssertionError("helm rendered what it should have refused")


def example(name: str) -> Values:
    """The values of an example, to be changed at will."""
    content = yaml.safe_load((CHART / "examples" / f"{name}.yaml").read_text())
    assert isinstance(content, dict)
    return content


def small(**engine: Any) -> Values:
    """The example `small` with these fields of its engine profile changed."""
    values = example("small")
    values["models"][0]["engine"] |= engine
    return values


def plain(**engine: Any) -> Values:
    """The same with the command line written by the chart, for an image of others, and with these fields changed."""
    written = {
        "image": {"repository": "lmsysorg/sglang", "tag": "v0.5.23"},
        "profile": {},
        "flags": ["--attention-backend=triton"],
        "speculativeFlags": ["--speculative-algorithm=EAGLE3", "--speculative-draft-model-path=/models/drafter"],
    }
    return small(**(written | engine))


def container(deployment: Object) -> Object:
    """The only container of a Deployment's or a Pod's pods."""
    spec = deployment["spec"]
    [found] = spec.get("template", {"spec": spec})["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def gateway_file(rendered: Rendered) -> str:
    """The gateway's configuration file as it stands in the ConfigMap."""
    content = rendered.one("ConfigMap", "gateway")["data"]["spillway.yaml"]
    assert isinstance(content, str)
    return content
