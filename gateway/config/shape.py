"""The schema as a tree to walk beside the data: which fields are valid at a place, and what a value there is for."""

import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin

from .errors import Loc
from .schema import Config
from .section import Section
from .values import Must, Secret

DISCRIMINATOR = "kind"


@dataclass(frozen=True)
class Shape:
    """What may stand at one place: a mapping (of one section, or one of several), a list, or a single value.

    A mapping whose names are free, such as labels, counts as a single value; `named` is what they stand for.
    """

    sections: tuple[type[Section], ...] = ()
    item: "Shape | None" = None
    named: "Shape | None" = None
    scalar: object = None
    nullable: bool = False
    metadata: tuple[object, ...] = ()

    @property
    def is_secret(self) -> bool:
        return any(isinstance(mark, Secret) for mark in self.metadata)

    @property
    def is_path(self) -> bool:
        return self.scalar is Path

    @property
    def is_text(self) -> bool:
        """Whether every value is text, so that it needs no quotes where nothing else is possible."""
        return self.scalar in (str, Path) or get_origin(self.scalar) is Literal

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a closed set; where `kind` chooses between sections, those of `kind`."""
        if len(self.sections) > 1:
            return tuple(kind for section in self.sections for kind in fields(section)[DISCRIMINATOR].choices)
        return tuple(map(str, get_args(self.scalar))) if get_origin(self.scalar) is Literal else ()

    @property
    def words(self) -> str | None:
        """What a value must be, where the type has words for it."""
        return next((mark.words for mark in self.metadata if isinstance(mark, Must)), None)

    def section(self, data: object) -> type[Section] | None:
        """The section that `data` is meant to be; with several, its `kind` decides and the first is the default."""
        if len(self.sections) < 2:
            return self.sections[0] if self.sections else None
        kind = data.get(DISCRIMINATOR, self.choices[0]) if isinstance(data, dict) else self.choices[0]
        return next((section for section in self.sections if kind in fields(section)[DISCRIMINATOR].choices), None)

    def step(self, data: object, key: str | int) -> "Shape | None":
        """The shape of one entry of `data`, which has this shape; None where the schema knows no such entry."""
        if isinstance(key, int):
            return self.item
        if self.named is not None:
            return self.named
        section = self.section(data)
        return None if section is None else fields(section).get(key)


def _shape(annotation: object, metadata: tuple[object, ...]) -> Shape:
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        return _shape(inner, (*metadata, *marks))
    if get_origin(annotation) in (Union, types.UnionType):
        shapes = [_shape(member, metadata) for member in get_args(annotation) if member is not types.NoneType]
        nullable = types.NoneType in get_args(annotation)
        if len(shapes) == 1:
            only = shapes[0]
            return replace(only, nullable=nullable)
        return Shape(sections=tuple(section for shape in shapes for section in shape.sections), nullable=nullable)
    if get_origin(annotation) is tuple:
        return Shape(item=_shape(get_args(annotation)[0], ()), metadata=metadata)
    if get_origin(annotation) is dict:
        return Shape(named=_shape(get_args(annotation)[1], ()), scalar=annotation, metadata=metadata)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return Shape(sections=(annotation,), metadata=metadata)
    return Shape(scalar=annotation, metadata=metadata)


@cache
def fields(section: type[Section]) -> dict[str, Shape]:
    """The fields of a section by name, in the schema's order."""
    return {name: _shape(info.annotation, tuple(info.metadata)) for name, info in section.model_fields.items()}


ROOT = Shape(sections=(Config,))


def shape_at(data: object, loc: Loc) -> Shape | None:
    """The shape at `loc` of `data`, or None where the schema knows no such place."""
    shape: Shape | None = ROOT
    for key in loc:
        if shape is None:
            return None
        shape = shape.step(data, key)
        data = entry(data, key)
    return shape


def entry(data: object, key: str | int) -> object:
    """One entry of a mapping or a list, or None."""
    if isinstance(data, dict):
        return data.get(key)
    if isinstance(data, list) and isinstance(key, int) and key < len(data):
        return data[key]
    return None


def value_at(data: object, loc: Loc) -> object:
    for key in loc:
        data = entry(data, key)
    return data


def values(data: object, shape: Shape | None = ROOT, loc: Loc = ()) -> Iterator[tuple[Loc, object, Shape]]:
    """Every single value of `data` that the schema knows, with its place and shape."""
    if shape is None:
        return
    if shape.scalar is not None:
        yield loc, data, shape
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from values(value, shape.step(data, key), (*loc, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from values(value, shape.item, (*loc, index))


def replaced(data: object, loc: Loc, value: object) -> object:
    """A copy of `data` with `value` at `loc`; what is missing on the way is made, the rest is shared."""
    if not loc:
        return value
    key, rest = loc[0], loc[1:]
    if isinstance(key, int):
        items = list(data) if isinstance(data, list) else []
        items[key : key + 1] = [replaced(entry(items, key), rest, value)]
        return items
    mapping = dict(data) if isinstance(data, dict) else {}
    mapping[key] = replaced(mapping.get(key), rest, value)
    return mapping


def file_loc(data: object, loc: Loc) -> Loc:
    """The place in the file that a validator's `loc` speaks of, which also names the section chosen by `kind`."""
    shape: Shape | None = ROOT
    place: list[str | int] = []
    chosen = False
    for key in loc:
        if shape is not None and len(shape.sections) > 1 and not chosen:
            chosen = True
            continue
        chosen = False
        place.append(key)
        shape = None if shape is None else shape.step(data, key)
        data = entry(data, key)
    return tuple(place)
