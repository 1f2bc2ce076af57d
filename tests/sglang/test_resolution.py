"""The pinned SGLang itself, asked what it makes of every launch line, on GPUs that are pretended."""

import json
from typing import Any

import pytest

from spillway_engine import surface as engine_surface
from spillway_engine.surface import PINNED
from tests.sglang import environment, recorded

pytestmark = pytest.mark.sglang

NAMES = [it["name"] for it in recorded.questions()]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """What it says of all of them."""
    return environment.resolved(recorded.questions())


def test_it_is_the_version_that_is_pinned() -> None:
    assert environment.version() == PINNED


def test_its_options_are_those_that_are_recorded() -> None:
    path = engine_surface.FOLDER / f"{PINNED}.json"
    changed = recorded.difference(json.loads(path.read_text()), environment.surface())
    assert not changed, f"{path.name}: write it anew by tests/sglang/runtime/record.py\n{changed}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_it_resolves_to_what_is_recorded(answers: dict[str, Any], name: str) -> None:
    expected = {key: it for key, it in recorded.load()["cases"][name].items() if key != "arguments"}
    changed = recorded.difference(expected, recorded.portable(answers[name]))
    assert not changed, f"{name}: if this is as it should be, run python -m tests.sglang\n{changed}"
