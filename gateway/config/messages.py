"""Validation errors in the words of someone who edits the file."""

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .errors import Loc
from .section import Section
from .shape import DISCRIMINATOR, ROOT, Shape, fields, file_loc, shape_at, value_at

_LONGEST_ECHO = 60


def explained(error: ValidationError, data: object) -> Iterable[tuple[Loc, str]]:
    """The places in `data` that are wrong by themselves, each with the reason; contradictions are left out."""
    for details in error.errors(include_url=False):
        if details["type"] == "contradiction":
            continue
        loc = file_loc(data, details["loc"])
        if details["type"] == "too_short" and value_at(data, loc):
            continue  # Counted after the wrong entries were left out; those are reported themselves.
        yield _explain(details, loc, data)


def unknown_field(name: str, section: type[Section], shape: Shape | None = None) -> str:
    """Says that `section` has no field `name`, and which one may have been meant. `shape`: what may stand there."""
    valid = list(fields(section))
    if kinds := kinds_with(name, shape):
        chosen = " or ".join(f"{DISCRIMINATOR}: {kind}" for kind in kinds)
        given = " or ".join(fields(section)[DISCRIMINATOR].choices)
        return f"only with {chosen}, and this is {DISCRIMINATOR}: {given}: change that, or leave {name} out"
    if (near := nearest(name, valid)) is not None:
        return f"unknown field; did you mean {near!r}?"
    if found := places(name):
        return f"unknown field here; it belongs at {' or '.join(found)}"
    return f"unknown field; valid here: {', '.join(valid)}"


def kinds_with(name: str, shape: Shape | None) -> list[str]:
    """Where `kind` chooses between sections: the kinds that have a field `name`."""
    if shape is None or len(shape.sections) < 2:
        return []
    return [kind for one in shape.sections if name in fields(one) for kind in fields(one)[DISCRIMINATOR].choices]


def places(name: str) -> list[str]:
    """Where a field of this name is valid, written as `models[].policy.threshold`; empty if at none, or at many."""
    return _places().get(name, [])


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name that `name` is most likely meant to be, if any is near."""
    matches = difflib.get_close_matches(name.lower().replace("-", "_").strip(), list(valid), n=1)
    return matches[0] if matches else None


@cache
def _places() -> dict[str, list[str]]:
    """Where in the schema each field name is valid, written as `models[].policy.threshold`."""
    places: dict[str, list[str]] = {}

    def visit(shape: Shape, place: str) -> None:
        if shape.item is not None:
            visit(shape.item, f"{place}[]")
        for section in shape.sections:
            for name, field in fields(section).items():
                where = f"{place}.{name}" if place else name
                known = places.setdefault(name, [])
                if where not in known:
                    known.append(where)
                visit(field, where)

    visit(ROOT, "")
    return {name: where for name, where in places.items() if len(where) <= 2}


def _explain(details: ErrorDetails, loc: Loc, data: object) -> tuple[Loc, str]:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "extra_forbidden":
        section = _section_at(data, loc[:-1])
        return loc, unknown_field(str(loc[-1]), section, shape_at(data, loc[:-1])) if section else "unknown field"
    if kind == "missing":
        return loc, _missing(data, loc)
    if kind == "refused":
        return loc, str(context["reason"])
    shape = shape_at(data, loc) or Shape()
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        place = (*loc, DISCRIMINATOR)
        return place, _must(_one_of(shape.choices), value_at(data, place), shape)
    value = details["input"]
    if value is None:
        remedy = "give it a value" if _is_required(data, loc) else "give it a value, or remove it to use the default"
        return loc, f"is empty: {remedy}"
    requirement = _requirement(kind, context, shape)
    return loc, details["msg"] if requirement is None else _must(requirement, value, shape)


def _missing(data: object, loc: Loc) -> str:
    section = _section_at(data, loc[:-1])
    info = section.model_fields.get(str(loc[-1])) if section else None
    text = (info.description or "") if info else ""
    return f"is required: {text[:1].lower()}{text[1:].rstrip('.')}" if text else "is required"


def _section_at(data: object, loc: Loc) -> type[Section] | None:
    shape = shape_at(data, loc)
    return None if shape is None else shape.section(value_at(data, loc))


def _is_required(data: object, loc: Loc) -> bool:
    section = _section_at(data, loc[:-1]) if loc and isinstance(loc[-1], str) else None
    return section is None or section.model_fields[str(loc[-1])].is_required()


_NUMBER_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
_PLAIN: Mapping[str, str] = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "path_type": "a path",
    "tuple_type": "a list",
    "dict_type": "a mapping, such as {app: k2}",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
}


def _requirement(kind: str, context: Mapping[str, Any], shape: Shape) -> str | None:
    """What completes "must be" for one of the validator's kinds of error."""
    if kind in _NUMBER_BOUNDS:
        word, limit = _NUMBER_BOUNDS[kind]
        return f"{word} {float(context[limit]):.15g}"
    if kind == "literal_error":
        return _one_of(shape.choices)
    if kind == "too_short":
        return f"a {'list' if shape.named is None else 'mapping'} with at least one entry"
    if kind == "string_too_long":
        return f"at most {context['max_length']} characters long"
    if kind in ("string_type", "string_unicode", "string_pattern_mismatch"):
        return shape.words or "text"
    return _PLAIN.get(kind)


def _one_of(choices: tuple[str, ...]) -> str:
    return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"


def _must(requirement: str, value: object, shape: Shape) -> str:
    given = "" if shape.is_secret else f", not {_echo(value, shape)}"
    advice = _advice(value, shape)
    return f"must be {requirement}{given}{f'; {advice}' if advice else ''}"


def _echo(value: object, shape: Shape) -> str:
    """The value as given, unless it stands where only a mapping or a list may: it could be a misplaced secret."""
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if shape.scalar is None and not shape.choices:
        return "text" if isinstance(value, str) else "a single value"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= _LONGEST_ECHO else f"{text[:_LONGEST_ECHO]}..."


def _advice(value: object, shape: Shape) -> str | None:
    if isinstance(value, str) and (near := nearest(value, shape.choices)) is not None:
        return f"did you mean {near!r}?"
    if isinstance(value, str) and shape.item is not None:
        return "write it as a list, [...], even with one entry"
    if isinstance(value, bool | int | float) and shape.is_text and not shape.choices:
        return "put it in quotes"
    return None
