"""A YAML text as plain data that still knows its lines.

Values follow YAML 1.2's core schema rather than PyYAML's 1.1, in which `80:80` is the number 4880, `off` is false and
`1e3` is text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from .errors import Loc, Problem, dotted

_TAG = "tag:yaml.org,2002:"
_SCALARS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
)
CORE_RESOLVERS = tuple((_TAG + name, re.compile(rf"(?:{pattern})\Z"), first) for name, pattern, first in _SCALARS)
_LONGEST_NUMBER = 400
_MERGE_KEY = "<<"


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    """Turns a text into nodes tagged by the core schema; makes no Python objects."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)


for _tag, _pattern, _first in CORE_RESOLVERS:
    _Loader.add_implicit_resolver(_tag, _pattern, _first)


class UnusableYamlError(Exception):
    """A text from which no data can be had."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Document:
    """A parsed text: `data` holds only dicts with text keys, lists, text, numbers, booleans and None."""

    root: Node | None
    data: object
    problems: tuple[Problem, ...]

    def line(self, loc: Loc) -> int | None:
        """Returns the line, from 1, where the field at `loc` begins, or None when the text does not hold it."""
        node, line = self.root, None
        for step in loc:
            found = _child(node, step)
            if found is None:
                return None
            line, node = found
        if line is None and node is not None:
            line = node.start_mark.line + 1
        return line


def parse(text: str) -> Document:
    """Parses one YAML document; duplicate keys and the like are in its `problems`.

    Raises:
        UnusableYamlError: the text is not YAML, or holds more than one document.
    """
    try:
        root = _Loader(text).get_single_node()
        converter = _Converter()
        data = None if root is None else converter.value(root, ())
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise UnusableYamlError(
            f"the character U+{ord(text[error.position]):04X} is not allowed", line, column
        ) from None
    except RecursionError:
        raise UnusableYamlError("nested too deeply") from None
    return Document(root, data, tuple(converter.problems))


def _syntax_error(error: yaml.MarkedYAMLError) -> UnusableYamlError:
    mark = error.problem_mark or error.context_mark
    reason = ", ".join(part for part in (error.context, error.problem) if part)
    if "but found another document" in reason:
        reason = "holds a second document: keep one and remove the '---' line"
    elif r"'\t'" in reason:
        reason = "not valid YAML: a tab where spaces are expected; indent with spaces"
    else:
        reason = f"not valid YAML: {reason}"
    return UnusableYamlError(reason, mark.line + 1 if mark else None, mark.column + 1 if mark else None)


def _child(node: Node | None, step: str | int) -> tuple[int, Node] | None:
    """The line and node of one entry of a mapping (its own keys before merged ones) or of a sequence."""
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        item: Node = node.value[step]
        return item.start_mark.line + 1, item
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.value == step:
                return key.start_mark.line + 1, value
        for key, value in node.value:
            if _is_merge(key):
                for merged in value.value if isinstance(value, SequenceNode) else [value]:
                    if (found := _child(merged, step)) is not None:
                        return found
    return None


def _is_merge(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.style is None and key.value == _MERGE_KEY


class _Converter:
    """Makes data of nodes. A node reached again (an alias) is converted once, so aliases cannot multiply work."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._done: dict[Node, object] = {}
        self._open: set[Node] = set()

    def value(self, node: Node, loc: Loc) -> object:
        if node in self._done:
            return self._done[node]
        if node in self._open:
            self._problem(node, loc, "contains itself through an alias")
            return None
        self._open.add(node)
        data: object
        if isinstance(node, ScalarNode):
            data = self._scalar(node, loc)
        elif isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            data = [self.value(item, (*loc, index)) for index, item in enumerate(node.value)]
        elif isinstance(node, MappingNode) and node.tag == _TAG + "map":
            data = self._mapping(node, loc)
        else:
            data = None
            self._unknown_tag(node, loc)
        self._open.discard(node)
        self._done[node] = data
        return data

    def _mapping(self, node: MappingNode, loc: Loc) -> dict[str, object]:
        own: dict[str, object] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            if _is_merge(key):
                continue
            if not isinstance(key, ScalarNode):
                self._problem(key, loc, "a field's name must be plain text")
            elif key.value in own:
                self._problem(
                    key, (*loc, key.value), f"given twice; it is already on line {lines[key.value]}: keep one"
                )
            else:
                lines[key.value] = key.start_mark.line + 1
                own[key.value] = self.value(value, (*loc, key.value))
        for merged in self._merged(node, loc):
            for name, inherited in merged.items():
                own.setdefault(name, inherited)
        return own

    def _merged(self, node: MappingNode, loc: Loc) -> Iterator[dict[str, object]]:
        for key, value in node.value:
            if _is_merge(key):
                for source in value.value if isinstance(value, SequenceNode) else [value]:
                    data = self.value(source, loc)
                    if isinstance(data, dict):
                        yield data
                    else:
                        self._problem(key, (*loc, _MERGE_KEY), "can only merge mappings")

    def _scalar(self, node: ScalarNode, loc: Loc) -> object:
        text: str = node.value
        match node.tag.removeprefix(_TAG):
            case "str":
                return text
            case "null":
                return None
            case "bool" if text.lower() in ("true", "false"):
                return text.lower() == "true"
            case "int" | "float" if len(text) > _LONGEST_NUMBER:
                self._problem(node, loc, "the number is too long")
                return None
            case "int" if CORE_RESOLVERS[2][1].match(text):
                return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
            case "float" if CORE_RESOLVERS[3][1].match(text):
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        self._unknown_tag(node, loc)
        return None

    def _unknown_tag(self, node: Node, loc: Loc) -> None:
        tag = node.tag.replace(_TAG, "!!")
        self._problem(node, loc, f"the tag {tag} is not supported here: remove it")

    def _problem(self, node: Node, loc: Loc, reason: str) -> None:
        self.problems.append(Problem(reason, dotted(loc), line=node.start_mark.line + 1))
