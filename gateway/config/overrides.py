"""Settings from the environment, laid over the file: `SPILLWAY_MODELS__0__POLICY__THRESHOLD=7`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .document import UnusableYamlError, parse
from .errors import Loc, Problem, dotted
from .messages import kinds_with, nearest, unknown_field
from .schema import Config
from .shape import DISCRIMINATOR, ROOT, Shape, entry, fields, replaced

PREFIX = "SPILLWAY_"
SEPARATOR = "__"

# Kubernetes gives every container such variables for each Service of its namespace, and ours is likely named spillway.
_SERVICE_LINK = re.compile(
    r".*_SERVICE_HOST|.*_SERVICE_PORT(_[A-Z0-9_]+)?|.*_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?", re.DOTALL
)
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://.*", re.DOTALL)


@dataclass(frozen=True)
class Overridden:
    """The data with the environment's settings in it, and which variable set which place."""

    data: object
    variables: Mapping[Loc, str]
    problems: tuple[Problem, ...]

    def variable(self, loc: Loc) -> str | None:
        """The variable that set `loc` or something around it."""
        return next((self.variables[loc[:end]] for end in range(len(loc), 0, -1) if loc[:end] in self.variables), None)

    def variable_within(self, loc: Loc) -> str | None:
        """A variable that set something inside `loc`."""
        return next((name for place, name in self.variables.items() if place[: len(loc)] == loc), None)


class _RefusedError(Exception):
    """A variable that cannot be applied."""


def overridden(data: object, env: Mapping[str, str]) -> Overridden:
    """Applies every override in `env` to `data`, outer places before inner ones."""
    variables: dict[Loc, str] = {}
    problems: list[Problem] = []
    for name in sorted(filter(lambda name: is_override(name, env[name]), env), key=_order):
        try:
            loc, shape = _place(name, data)
            if loc in variables:
                raise _RefusedError(f"sets the same field as {variables[loc]}: keep one")
            value = _value(env[name], shape)
        except _RefusedError as error:
            problems.append(Problem(str(error), variable=name))
            continue
        data = replaced(data, loc, value)
        variables[loc] = name
    return Overridden(data, variables, tuple(problems))


def is_override(name: str, value: str) -> bool:
    """Whether a variable is meant for the configuration, and is not one of Kubernetes' service links."""
    if not name.startswith(PREFIX) or is_service_link(name, value):
        return False
    rest = name.removeprefix(PREFIX)
    return SEPARATOR in rest or rest.lower() in Config.model_fields


def is_service_link(name: str, value: str) -> bool:
    """Whether it is one that Kubernetes sets for a Service."""
    return bool(_SERVICE_LINK.fullmatch(name) or (name.endswith("_PORT") and _SERVICE_URL.fullmatch(value)))


def _segments(name: str) -> list[str]:
    return name.removeprefix(PREFIX).lower().split(SEPARATOR)


def _order(name: str) -> tuple[int, bool, list[tuple[int, str]]]:
    """Outer before inner; `kind` before its neighbours, which it gives their meaning; numbers by value."""
    segments = _segments(name)
    places = [(int(part) if _is_index(part) else -1, part) for part in segments]
    return len(segments), segments[-1] != DISCRIMINATOR, places


def _is_index(segment: str) -> bool:
    return segment.isascii() and segment.isdigit() and len(segment) < 10


def _place(name: str, data: object) -> tuple[Loc, Shape]:
    loc: Loc = ()
    shape = ROOT
    for number, segment in enumerate(_segments(name)):
        key: str | int
        if shape.item is not None:
            key, shape = _index(segment, data, loc), shape.item
        else:
            key, shape = _field(name, number, segment, data, loc, shape)
        loc = (*loc, key)
        data = entry(data, key)
    return loc, shape


def _index(segment: str, data: object, loc: Loc) -> int:
    if data is not None and not isinstance(data, list):
        raise _RefusedError(f"{dotted(loc)} is not a list in the file, so no entry of it can be set")
    length = len(data) if isinstance(data, list) else 0
    if not _is_index(segment) or int(segment) > length:
        numbers = f"0 to {length}" if length else "0"
        raise _RefusedError(f"{segment!r} is no entry of {dotted(loc)}: give its number, {numbers} ({length} adds one)")
    return int(segment)


def _field(name: str, number: int, segment: str, data: object, loc: Loc, shape: Shape) -> tuple[str, Shape]:
    if shape.named is not None:
        raise _RefusedError(f"{dotted(loc)} can only be set as a whole, such as '{{app: k2}}'")
    if not shape.sections:
        raise _RefusedError(f"{dotted(loc)} is a single value and has no {segment!r}")
    if data is not None and not isinstance(data, dict):
        raise _RefusedError(f"{dotted(loc) or 'the file'} is not a mapping in the file, so no field of it can be set")
    section = shape.section(data)
    if section is None:
        raise _RefusedError(f"{dotted((*loc, DISCRIMINATOR))} must be right before {segment!r} can be set")
    valid = fields(section)
    if segment not in valid:
        if kinds_with(segment, shape) or (near := nearest(segment, valid)) is None:
            raise _RefusedError(f"{dotted((*loc, segment))}: {unknown_field(segment, section, shape)}")
        parts = name.removeprefix(PREFIX).split(SEPARATOR)
        parts[number] = near.upper()
        raise _RefusedError(f"unknown field {segment!r}; did you mean {PREFIX}{SEPARATOR.join(parts)}?")
    return segment, valid[segment]


def _value(text: str, shape: Shape) -> object:
    """The variable's text as YAML; where only text is possible it stands as it is, unless quoted or null."""
    if shape.is_text and not text.startswith(("'", '"')):
        return None if shape.nullable and text in ("", "~", "null") else text
    try:
        document = parse(text)
    except UnusableYamlError as error:
        raise _RefusedError(f"the value is {error.reason}") from None
    if document.problems:
        raise _RefusedError("; ".join(f"{problem.field}: {problem.reason}" for problem in document.problems))
    return document.data
