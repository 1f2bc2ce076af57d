"""Prints which options the SGLang of this environment has, as a file of `spillway_engine/surfaces/`."""

import argparse
import importlib.metadata
import json
import sys
from typing import Any

_TYPES = {int: "int", float: "float"}


def option(action: argparse.Action) -> dict[str, Any]:
    """One option as `spillway_engine.surface.Option` has it."""
    kind = {None: "value", 0: "switch", "?": "optional"}.get(action.nargs, "values")
    found: dict[str, Any] = {"dest": action.dest, "kind": kind}
    if action.type in _TYPES:
        found["type"] = _TYPES[action.type]
    if action.choices and kind != "switch":
        found["choices"] = sorted(str(it) for it in action.choices)
    if type(action).__name__.startswith("Deprecated") or str(action.help).lstrip("(").startswith("Deprecated"):
        new = getattr(action, "new_flag", None)
        found["deprecated"] = f"use {new}" if new else str(action.help or "it is going to be removed")
    return found


def main() -> None:
    """Prints the surface as JSON, one option a line."""

    from sglang.srt.environ import envs
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser(add_help=False)
    ServerArgs.add_cli_args(parser)
    options = {
        string.removeprefix("--"): option(action)
        for action in parser._actions
        for string in action.option_strings
        if string.startswith("--")
    }
    environment = sorted(name for name in dir(envs) if name.startswith("SGLANG_"))
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(it)}" for name, it in sorted(options.items()))
    version = json.dumps(sys.argv[1] if len(sys.argv) > 1 else importlib.metadata.version("sglang"))
    print(
        f'{{\n  "version": {version},\n  "environment": {json.dumps(environment)},\n  "options": {{\n{lines}\n  }}\n}}'
    )


if __name__ == "__main__":
    main()
