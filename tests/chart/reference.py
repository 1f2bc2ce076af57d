"""Writes the table of values in the chart's README from values.yaml: `python -m tests.chart.reference`.

The text of a value is what its comment says after `--`; mappings without one are described by their fields.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tests.chart.helm import CHART

README = CHART / "README.md"
_START, _END = "<!-- values, from values.yaml -->\n", "<!-- end of values -->\n"


@dataclass(frozen=True)
class Value:
    """A value that may be set: its dotted path, its default, and what it means."""

    path: str
    default: Any
    meaning: str


def documented(text: str) -> Iterator[Value]:
    """Every value of a values file that has a meaning, in order.

    Raises:
        ValueError: a value has none, neither itself nor what holds it.
    """
    yield from _inside(yaml.compose(text), (), text.splitlines())


def _inside(node: yaml.Node | None, path: tuple[str, ...], lines: list[str]) -> Iterator[Value]:
    assert isinstance(node, yaml.MappingNode)
    for key, value in node.value:
        here = (*path, key.value)
        meaning = _meaning(lines, key.start_mark.line)
        if meaning is not None:
            default = yaml.safe_load(yaml.serialize(value))
            yield Value(".".join(here), default, meaning)
        elif isinstance(value, yaml.MappingNode) and value.value:
            yield from _inside(value, here, lines)
        else:
            raise ValueError(f"{'.'.join(here)} has no comment that begins with '# --' above it")


def _meaning(lines: list[str], line: int) -> str | None:
    comment: list[str] = []
    while line > 0 and lines[line - 1].strip().startswith("#"):
        line -= 1
        comment.insert(0, lines[line].strip().removeprefix("#").strip())
        if comment[0].startswith("-- "):
            return " ".join(comment).removeprefix("-- ")
    return None


def table() -> str:
    """The table as Markdown."""
    rows = [
        f"| `{value.path}` | `{_plain(value.default)}` | {value.meaning.replace('|', '&#124;')} |"
        for value in documented((CHART / "values.yaml").read_text())
    ]
    return "\n".join(["| value | default | meaning |", "| --- | --- | --- |", *rows]) + "\n"


def _plain(value: Any) -> str:
    """JSON without the quotes that YAML does not need."""
    return re.sub(r'"([A-Za-z][\w./-]*)"', r"\1", json.dumps(value))


def written(readme: str) -> str:
    """The README with the table as it should be."""
    before, rest = readme.split(_START)
    _, after = rest.split(_END)
    return f"{before}{_START}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
