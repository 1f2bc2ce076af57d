"""Finds what is wrong within a section whose own name is misspelt, so that it need not wait for the first correction.

The section is checked as the one that was probably meant. A single value is not: it could be a secret of some other
program's, and messages repeat values.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from .errors import Loc
from .messages import explained, nearest, unknown_field
from .schema import Config
from .shape import ROOT, Shape, fields


def within_misspelt(data: object) -> list[tuple[Loc, str]]:
    """The places in misspelt sections that are wrong, those sections themselves included, each with the reason."""
    # The misspelt names, by the places where they were meant to be.
    written: dict[Loc, str] = {}
    found: list[tuple[Loc, str]] = []
    corrected = _corrected(data, ROOT, (), written, found)
    if written:
        try:
            Config.model_validate(corrected)
        except ValidationError as error:
            wrong = explained(error, corrected)
            found += ((loc, why) for loc, why in wrong if any(loc[:end] in written for end in range(len(loc))))
    return [(tuple(written.get(loc[: end + 1], step) for end, step in enumerate(loc)), why) for loc, why in found]


def _corrected(
    data: object, shape: Shape | None, loc: Loc, written: dict[Loc, str], found: list[tuple[Loc, str]]
) -> object:
    """A copy of `data` with misspelt sections under the names that they were meant to have."""
    if shape is None:
        return data
    if isinstance(data, list):
        return [_corrected(item, shape.item, (*loc, index), written, found) for index, item in enumerate(data)]
    section = shape.section(data)
    if not isinstance(data, dict) or section is None:
        return data
    made: dict[object, object] = {}
    for name, value in data.items():
        meant = _meant(name, value, fields(section), data)
        if meant != name:
            written[(*loc, meant)] = name
            found.append(((*loc, meant), unknown_field(name, section)))
        made[meant] = _corrected(value, fields(section).get(meant), (*loc, meant), written, found)
    return made


def _meant(name: str, value: object, known: Mapping[str, Shape], beside: Mapping[str, object]) -> str:
    if name in known or not isinstance(value, dict | list):
        return name
    near = nearest(name, known)
    return near if near and near not in beside and (known[near].sections or known[near].item) else name
