"""Label and field selectors."""

import re
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
Selects = Callable[[Object], bool]

_NAME = r"[A-Za-z0-9._/-]+"
_REQUIREMENT = re.compile(
    rf"\s*(?:(?P<set>{_NAME})\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)"
    rf"|(?P<name>{_NAME})\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[A-Za-z0-9._-]*))?"
    rf"|!(?P<absent>{_NAME}))\s*(?:,|$)"
)


class SelectorError(ValueError):
    """The selector can't be parsed."""


def by_labels(text: str) -> Selects:
    """Raises SelectorError."""
    tests: list[Callable[[dict[str, str]], bool]] = []
    at = 0
    while at < len(text):
        found = _REQUIREMENT.match(text, at)
        if found is None or found.end() == at:
            raise SelectorError(f"unable to parse requirement: {text[at:]!r}")
        tests.append(_requirement(found))
        at = found.end()
    return lambda item: all(test(item["metadata"].get("labels") or {}) for test in tests)


def _requirement(found: "re.Match[str]") -> Callable[[dict[str, str]], bool]:
    name, sign, value = found["name"], found["sign"], found["value"]
    if found["absent"]:
        return lambda labels: found["absent"] not in labels
    if found["set"]:
        values = {item.strip() for item in found["values"].split(",")}
        inside = found["op"] == "in"
        return lambda labels: (labels.get(found["set"]) in values) == inside
    if sign is None:
        return lambda labels: name in labels
    if sign == "!=":
        return lambda labels: labels.get(name) != value
    return lambda labels: labels.get(name) == value


def by_fields(text: str) -> Selects:
    """The fields that every kind has. Raises SelectorError."""
    tests: list[tuple[str, bool, str]] = []
    for part in filter(None, text.split(",")):
        name, sign, value = re.split(r"(==|!=|=)", part, maxsplit=1) if "=" in part else (part, "", "")
        if name not in ("metadata.name", "metadata.namespace"):
            raise SelectorError(f"field label not supported: {name}")
        tests.append((name.removeprefix("metadata."), sign != "!=", value))
    return lambda item: all((item["metadata"].get(name) == value) == same for name, same, value in tests)
