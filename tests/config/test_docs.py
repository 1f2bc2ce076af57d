"""The example files and the reference agree with the schema."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gateway.config import load_config
from gateway.config.discovery import Discovery, Kubernetes
from gateway.config.reference import reference
from gateway.config.section import Section
from gateway.config.shape import ROOT, Shape, entry, fields

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"


@pytest.mark.parametrize("name", ["spillway.yaml", "minimal.yaml"])
def test_example_is_valid(name: str) -> None:
    load_config(EXAMPLES / name, {})


def sections(shape: Shape = ROOT) -> Iterator[type[Section]]:
    if shape.item is not None:
        yield from sections(shape.item)
    for section in shape.sections:
        yield section
        for field in fields(section).values():
            yield from sections(field)


def shown(data: object, shape: Shape = ROOT) -> Iterator[tuple[type[Section], str, object]]:
    """Every field that `data` gives: its section, name and value."""
    section = shape.section(data)
    if isinstance(data, list) and shape.item is not None:
        for item in data:
            yield from shown(item, shape.item)
    elif isinstance(data, dict) and section is not None:
        for name, field in fields(section).items():
            if name in data:
                yield section, name, data[name]
                yield from shown(entry(data, name), field)


# Fields that have no default and that a file is likely to need.
GIVEN = {
    (Discovery, "static"),
    (Kubernetes, "service"),
    (Kubernetes, "port"),
}


def test_the_annotated_example_shows_every_field_with_its_default() -> None:
    given = list(shown(yaml.safe_load((EXAMPLES / "spillway.yaml").read_text())))
    assert {(section, name) for section, name, _ in given} == {
        (section, name) for section in sections() for name in fields(section)
    }
    for section, name, value in given:
        info = section.model_fields[name]
        if not info.is_required() and not isinstance(value, dict) and (section, name) not in GIVEN:
            default = list(info.default) if isinstance(info.default, tuple) else info.default
            assert (section, name, value) == (section, name, default)


def test_the_annotated_example_explains_every_line() -> None:
    lines = (EXAMPLES / "spillway.yaml").read_text().splitlines()
    values = [line for line in lines if line.strip() and not line.strip().startswith(("#", "- http"))]
    plain = [line for line in values if "#" not in line and not line.endswith(":")]
    assert all("queue" in line or "discovery" in line or "pinn" in line for line in plain), plain


def test_every_field_has_a_description() -> None:
    assert [
        (section.__name__, name)
        for section in sections()
        for name, info in section.model_fields.items()
        if not (info.description or "").endswith(".")
    ] == []


def test_the_reference_is_up_to_date() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text()
    assert page == reference(), "run: python -m gateway.config.reference > docs/configuration.md"
