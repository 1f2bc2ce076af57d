"""Writes `docs/configuration.md` from the schema: `python -m gateway.config.reference > docs/configuration.md`."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import annotated_types
from pydantic.fields import FieldInfo

from .schema import Config
from .section import Section
from .shape import DISCRIMINATOR, ROOT, Shape, fields

_INTRODUCTION = """\
# Configuration

<!-- Generated from gateway/config/schema.py by `python -m gateway.config.reference`. -->

One YAML file, given with `--config` or in `SPILLWAY_CONFIG`. [examples/minimal.yaml](../examples/minimal.yaml) is
the least that works, [examples/spillway.yaml](../examples/spillway.yaml) shows every field. Durations are seconds,
sizes are bytes. A field that is left out has its default; an unknown field is refused.

`spillway check-config FILE` prints the configuration that would be in force, defaults included and keys masked, and
exits with 0; or it prints every problem with its line, and exits with 2. Without `FILE` it takes `$SPILLWAY_CONFIG`.

## Environment

A variable sets the field that it spells, over the file: `SPILLWAY_` and the path in capitals, its steps joined by
two underscores, list entries by number. The value is YAML.

    SPILLWAY_LISTEN__PORT=9000
    SPILLWAY_MODELS__0__POLICY__THRESHOLD=7
    SPILLWAY_MODELS__0__ALIASES='[k2, kimi]'

A whole section can be given too (`SPILLWAY_LOG='{level: debug}'`). A variable with two underscores in a row that
spells no field is refused, unless it is one of those that Kubernetes adds for a Service, such as
`SPILLWAY_A__B_SERVICE_HOST`. Others that begin with `SPILLWAY_` set nothing; where one seems to mean a field, as
`SPILLWAY_LISTEN_PORT` does, a warning says which.

## Keys

`api_key` and the entries of `auth.keys` may be `${NAME}`, which stands for the value of the environment variable
`NAME`; it must be set. Keys are never printed.

## Files

Relative paths start at the configuration file's folder. Files that are named must be readable, and certificates
must be usable, or the configuration is refused.

## Reload

The file, and every file it names, is read again each second, and at SIGHUP. When their content has changed and is
valid as a whole, it is put in force without dropping a request; otherwise the old configuration keeps serving, and
the problem is logged and counted in `spillway_config_reloads_total{result="refused"}`. Environment variables are
those of the process's start.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join((_INTRODUCTION, *(_chapter(section, places) for section, places in _sections().items())))


def _sections() -> dict[type[Section], list[str]]:
    """Every section and the places it is valid at, outer ones first."""
    found: dict[type[Section], list[str]] = {}

    def visit(shape: Shape, place: str) -> None:
        if shape.item is not None:
            visit(shape.item, f"{place}[]")
        for section in shape.sections:
            places = found.setdefault(section, [])
            if place not in places:
                places.append(place)
            for name, field in fields(section).items():
                visit(field, f"{place}.{name}" if place else name)

    visit(ROOT, "")
    return found


def _chapter(section: type[Section], places: list[str]) -> str:
    lines = [f"## {_heading(section, places)}", "", inspect.getdoc(section) or "", ""]
    lines += ["| field | value | default | meaning |", "| --- | --- | --- | --- |"]
    for name, shape in fields(section).items():
        info = section.model_fields[name]
        cells = (f"`{name}`", _value(shape), _default(shape, info), info.description or "")
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join((*lines, ""))


def _heading(section: type[Section], places: list[str]) -> str:
    if section is Config:
        return "The file"
    kind = fields(section)[DISCRIMINATOR].choices if DISCRIMINATOR in fields(section) else ()
    suffix = f" with `{DISCRIMINATOR}: {kind[0]}`" if kind else ""
    return ", ".join(f"`{place}`" for place in places) + suffix


def _value(shape: Shape) -> str:
    if shape.choices and shape.scalar is not None:
        return ", ".join(f"`{choice}`" for choice in shape.choices)
    if shape.sections:
        return "mapping"
    if shape.named is not None:
        return f"mapping of names to {_value(shape.named)}{'; not empty' if any(_bounds(shape)) else ''}"
    if shape.item is not None:
        entries = " of mappings" if shape.item.sections else f", each entry {_value(shape.item)}"
        return f"list{entries}{'; not empty' if any(_bounds(shape)) else ''}"
    if shape.words is not None:
        return shape.words
    plain = {bool: "true or false", Path: "path", int: "whole number", float: "number"}
    bounds = " and ".join(_bounds(shape))
    return next((word for type_, word in plain.items() if shape.scalar is type_), "text") + (bounds and f", {bounds}")


def _bounds(shape: Shape) -> Iterator[str]:
    marks = [mark for outer in shape.metadata for mark in (outer.metadata if isinstance(outer, FieldInfo) else [outer])]
    for mark in marks:
        match mark:
            case annotated_types.Gt(gt=bound):
                yield f"above {bound}"
            case annotated_types.Ge(ge=bound):
                yield f"at least {bound}"
            case annotated_types.Le(le=bound):
                yield f"at most {bound}"
            case annotated_types.MinLen(min_length=bound):
                yield f"with {bound} or more"


def _default(shape: Shape, info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    if info.default is None or info.default == ():
        return "none"
    if shape.sections:
        return "its defaults"
    if isinstance(info.default, bool):
        return f"`{str(info.default).lower()}`"
    if isinstance(info.default, float):
        return f"`{info.default:g}`"
    return f"`{info.default}`"


if __name__ == "__main__":
    sys.stdout.write(reference())
