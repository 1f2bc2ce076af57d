"""The profiles' JSON schema, for editors and other tools: `python -m spillway_engine.schema`."""

import json
from typing import Any

from pydantic import TypeAdapter

from spillway_engine.profile import Base, Extension


def schema() -> dict[str, Any]:
    """The schema of a profile's file: one that stands by itself, or one that extends such a one."""
    found: dict[str, Any] = TypeAdapter(Base | Extension).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Launch profile of an engine",
        **found,
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
