"""Sets `policy.threshold` in a configuration file, and changes not one byte beside it.

The YAML parser says where in the text a value stands; only that piece is replaced. Libraries that write YAML and keep
its comments still lay out anew what they write.
"""

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import yaml

from gateway.config import ConfigError, load_config

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class CantWriteError(ValueError):
    """A file in which the threshold can't be set; the message says why."""


def set_threshold(path: Path, model: str, threshold: int) -> int | None:
    """Sets it for a model, named by its name or an alias; returns what it was, or None.

    The changed file is validated as the gateway would, before it takes the place of the old one.

    Raises:
        CantWriteError: the file can't be read or written, has no such model, or would not be valid.
    """
    try:
        # Where a link leads to is what is replaced.
        path = path.resolve(strict=True)
        state = path.stat()
        if not state.st_mode & _WRITABLE:
            raise CantWriteError(f"{path} is for reading only: chmod u+w {path}, if it may be changed")
        changed, was = patched(path.read_bytes().decode(), model, threshold)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
            file.write(changed.encode())
        try:
            os.chown(file.name, state.st_uid, state.st_gid)
            Path(file.name).chmod(state.st_mode)
            load_config(Path(file.name), os.environ)
            Path(file.name).replace(path)
        finally:
            Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        raise CantWriteError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CantWriteError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    except yaml.YAMLError as error:
        raise CantWriteError(f"{path} is not YAML: {error}") from error
    except ConfigError as error:
        said = "; ".join(map(str, error.problems)).replace(Path(file.name).name, path.name)
        raise CantWriteError(
            f"{path} was left as it is, for with threshold {threshold} it would not be valid: {said}"
        ) from error
    return was


def patched(text: str, model: str, threshold: int) -> tuple[str, int | None]:
    """The text with the threshold, and what it was. Raises CantWriteError or yaml.YAMLError."""
    root = yaml.compose(text, yaml.SafeLoader)
    entry = _model(root, model)
    policy = _value(entry, "policy")
    if policy is not None and _uses(root, policy) > 1:
        raise CantWriteError(
            f"the policy of {model} is used elsewhere by an alias (*): write it out for each, then try again"
        )
    if policy is None:
        return _with_member(text, entry, f"policy: {{threshold: {threshold}}}"), None
    if not isinstance(policy, yaml.MappingNode):
        raise CantWriteError(f"the policy of {model} is no mapping")
    kind = _value(policy, "kind")
    if isinstance(kind, yaml.ScalarNode) and kind.value != "threshold":
        raise CantWriteError(f"the policy of {model} is {kind.value}, which has no threshold to set")
    now = _value(policy, "threshold")
    if now is None:
        return _with_member(text, policy, f"threshold: {threshold}"), None
    if not isinstance(now, yaml.ScalarNode):
        raise CantWriteError(f"the threshold of {model} is no number")
    before, after = text[: now.start_mark.index], text[now.end_mark.index :]
    return f"{before}{threshold}{after}", int(now.value) if now.value.isdecimal() else None


def _model(root: yaml.Node | None, name: str) -> yaml.MappingNode:
    models = _value(root, "models")
    for entry in models.value if isinstance(models, yaml.SequenceNode) else ():
        aliases = _value(entry, "aliases")
        names = [_value(entry, "name"), *(aliases.value if isinstance(aliases, yaml.SequenceNode) else ())]
        if any(isinstance(node, yaml.ScalarNode) and node.value == name for node in names):
            assert isinstance(entry, yaml.MappingNode)
            return entry
    raise CantWriteError(f"the file has no model {name}")


def _uses(node: yaml.Node | None, wanted: yaml.Node) -> int:
    """How often a node stands in the tree; an alias is the node that it names."""
    if node is wanted:
        return 1
    if isinstance(node, yaml.MappingNode):
        return sum(_uses(part, wanted) for pair in node.value for part in pair)
    if isinstance(node, yaml.SequenceNode):
        return sum(_uses(part, wanted) for part in node.value)
    return 0


def _value(node: yaml.Node | None, key: str) -> Any:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _with_member(text: str, mapping: yaml.MappingNode, member: str) -> str:
    """The text with one more member of a mapping, after its first if that is a scalar, else before it."""
    start, newline = mapping.start_mark.index, "\r\n" if "\r\n" in text else "\n"
    if mapping.flow_style:
        return f"{text[: start + 1]}{member}{', ' if mapping.value else ''}{text[start + 1 :]}"
    indent = " " * mapping.start_mark.column
    _, first = mapping.value[0]
    if not isinstance(first, yaml.ScalarNode):
        return f"{text[:start]}{member}{newline}{indent}{text[start:]}"
    at = text.find(newline, first.end_mark.index)
    at = len(text) if at < 0 else at
    return f"{text[:at]}{newline}{indent}{member}{text[at:]}"
