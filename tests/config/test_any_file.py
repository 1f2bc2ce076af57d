"""Whatever a file or a variable holds, it is loaded or refused in plain words, never anything else."""

import copy
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.config import ConfigError, load_config
from tests.config.support import write

EXAMPLE = (Path(__file__).parents[2] / "examples" / "spillway.yaml").read_text()
JARGON = re.compile(
    r"\binput\b|\bdictionary\b|\binstance\b|\btuple\b|pydantic|\bNone\b|_type\b|https://errors", re.IGNORECASE
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner)
)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def said(path: Path, env: dict[str, str]) -> tuple[str, ...]:
    """The reasons for refusal, each known to have a place; none if the file is accepted."""
    try:
        load_config(path, env)
    except ConfigError as error:
        found = error.problems
    else:
        return ()
    assert found
    for problem in found:
        assert problem.reason
        assert problem.variable is not None or problem.file == path
        assert len(str(problem).splitlines()) == 1
        assert str(problem).encode()
    return tuple(problem.reason for problem in found)


def places(data: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of everything in `data`."""
    yield place
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from places(value, (*place, key))


PLACES = [place for place in places(yaml.safe_load(EXAMPLE)) if place]


@settings(deadline=None)
@given(place=st.sampled_from(PLACES), value=anything)
def test_any_value_at_any_place(place: tuple[str | int, ...], value: object) -> None:
    data = copy.deepcopy(yaml.safe_load(EXAMPLE))
    around: Any = data
    for key in place[:-1]:
        around = around[key]
    around[place[-1]] = value
    with folder() as made:
        path = write(made, json.dumps(data, ensure_ascii=True))
        for reason in said(path, {}):
            assert not JARGON.search(re.sub(r"'.*'|\".*\"", "", reason)), reason


@settings(deadline=None)
@given(start=st.integers(0, len(EXAMPLE)), length=st.integers(0, 40), text=st.text(max_size=10))
def test_any_edit_of_the_text(start: int, length: int, text: str) -> None:
    edited = EXAMPLE[:start] + text + EXAMPLE[start + length :]
    with folder() as made:
        said(write(made, edited.encode("utf-8", "surrogatepass")), {})


@settings(deadline=None)
@given(content=st.binary(max_size=60) | st.text("[]{}:,-&*!|>'\"%@`#?\n\t ax0", max_size=30).map(str.encode))
@example(content=b"? ? ? ?")
@example(content=b"&a [*a, *a]")
@example(content=b"<<: *a")
def test_any_bytes(content: bytes) -> None:
    with folder() as made:
        assert said(write(made, content), {})


segments = st.sampled_from(
    ["MODELS", "0", "1", "LISTEN", "PORT", "POLICY", "KIND", "POOLS", "BASELINE", "AUTH", "KEYS", ""]
)


@settings(deadline=None)
@given(
    env=st.dictionaries(
        st.lists(segments, min_size=1, max_size=5).map(lambda parts: "SPILLWAY_" + "__".join(parts)),
        st.text("[]{}:,-&*!'\" ax0${}", max_size=12) | st.sampled_from(["pinned", "{}", "[]", "null", "${X}"]),
        max_size=4,
    )
)
def test_any_variables(env: dict[str, str]) -> None:
    with folder() as made:
        said(write(made, EXAMPLE), env)
