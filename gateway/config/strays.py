"""Variables that look like settings and set nothing: the path with one underscore for two, or its end alone."""

from collections.abc import Collection, Iterator, Mapping

from .messages import places
from .overrides import PREFIX, SEPARATOR, is_override, is_service_link
from .schema import Listen
from .shape import ROOT, Shape, fields

# The project's other variables; those of engines and tests spell no field.
_OTHERS = {"SPILLWAY_CONFIG", "SPILLWAY_API_KEY"}


def strays(env: Mapping[str, str], used: Collection[str]) -> Iterator[str]:
    """What to say of each such variable, `used` being those that the configuration takes keys from."""
    for name in sorted(env):
        if not name.startswith(PREFIX) or name in _OTHERS or name in used:
            continue
        if is_override(name, env[name]) or is_service_link(name, env[name]):
            continue
        meant = _meant(name.removeprefix(PREFIX).lower())
        if meant is not None:
            yield f"the environment variable {name} sets nothing: did you mean {PREFIX}{meant}?"


def _meant(rest: str) -> str | None:
    path = ("listen", rest) if rest in fields(Listen) else next(_paths(rest, ROOT), None)
    if path is None:
        path = next((_first(place) for place in places(rest)), None)
    return None if path is None else SEPARATOR.join(path).upper()


def _paths(rest: str, shape: Shape) -> Iterator[tuple[str, ...]]:
    """The ways to read `rest` as steps from `shape` with one underscore between."""
    if shape.item is not None:
        index, _, inner = rest.partition("_")
        if index.isascii() and index.isdigit():
            yield from ((index, *path) for path in (_paths(inner, shape.item) if inner else [()]))
        return
    for section in shape.sections:
        for name, field in fields(section).items():
            if rest == name:
                yield (name,)
            elif rest.startswith(f"{name}_"):
                yield from ((name, *path) for path in _paths(rest.removeprefix(f"{name}_"), field))


def _first(place: str) -> tuple[str, ...]:
    """`models[].policy.threshold` as steps, with the first entry of a list."""
    return tuple(place.replace("[]", ".0").split("."))
