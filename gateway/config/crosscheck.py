"""Finds contradictions between fields also where validation stopped at a wrong field beside them.

The validator compares a section's fields only once all of them are right, so a user would meet the contradictions one
correction later. Here the fields that are right are compared; a comparison that needs a wrong one is passed over.
"""

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, Self, cast

from pydantic import TypeAdapter, ValidationError

from .errors import Loc
from .messages import nearest
from .section import Section
from .shape import ROOT, Shape, fields


class _WrongError(Exception):
    """Nothing of a value can be used."""


class _Unknown:
    """Stands for a wrong value in a comparison: given, but equal to nothing, neither above nor below anything."""

    def __getattr__(self, name: str) -> Self:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object) -> Self:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return False


def contradictions(data: object) -> list[tuple[Loc, str]]:
    """Every place in `data` that contradicts another, with the reason."""
    found: list[tuple[Loc, str]] = []
    with contextlib.suppress(_WrongError):
        _salvaged(data, ROOT, (), found)
    return found


def _salvaged(data: object, shape: Shape, loc: Loc, found: list[tuple[Loc, str]]) -> object:
    """What the validator would make of `data` if it left out wrong fields.

    Raises:
        _WrongError: it would make nothing.
    """
    if data is None and shape.nullable:
        return None
    if shape.sections:
        return _section(data, shape.section(data), loc, found)
    if shape.item is not None:
        return _items(data, shape.item, loc, found)
    try:
        type_: Any = cast("Any", Annotated)[(shape.scalar, *shape.metadata)] if shape.metadata else shape.scalar
        value: object = TypeAdapter(type_).validate_python(data)
    except ValidationError:
        raise _WrongError from None
    return value


def _items(data: object, shape: Shape, loc: Loc, found: list[tuple[Loc, str]]) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise _WrongError
    items: list[object] = []
    for index, item in enumerate(data):
        try:
            items.append(_salvaged(item, shape, (*loc, index), found))
        except _WrongError:
            items.append(_Unknown())
    return tuple(items)


def _section(data: object, section: type[Section] | None, loc: Loc, found: list[tuple[Loc, str]]) -> Section:
    if section is None or not isinstance(data, dict):
        raise _WrongError
    # A misspelt field is as good as wrong: its default must not contradict anything.
    misspelt = {nearest(name, fields(section)) for name in data if name not in fields(section)}
    made: dict[str, Any] = {}
    for name, shape in fields(section).items():
        if name in data:
            try:
                made[name] = _salvaged(data[name], shape, (*loc, name), found)
            except _WrongError:
                made[name] = _Unknown()
        elif name in misspelt or section.model_fields[name].is_required():
            made[name] = _Unknown()
    whole = section.model_construct(**made)
    for comparison in whole.comparisons():
        # An unknown in a place that only takes text, such as an attribute's name.
        with contextlib.suppress(TypeError):
            found.extend(((*loc, *at), reason) for at, reason in comparison())
    return whole
