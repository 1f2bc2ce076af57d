"""The pinned SGLang itself, asked what it makes of every launch line, on GPUs that are pretended."""

import json
import subprocess
from typing import Any

import pytest

from spillway_engine.surface import PINNED
from tests.sglang import recorded
from tests.sglang.cases import FOLDER
from tests.sglang.environment import ENVIRONMENT, version

pytestmark = pytest.mark.sglang

NAMES = [it["name"] for it in recorded.questions()]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """What it says of all of them."""
    done = subprocess.run(
        [ENVIRONMENT / "bin" / "python", "-W", "ignore", "-m", "tests.sglang.runtime.resolve"],
        input=json.dumps(recorded.questions()),
        capture_output=True,
        text=True,
        cwd=FOLDER.parents[1],
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_it_is_the_version_that_is_pinned() -> None:
    assert version() == PINNED


@pytest.mark.parametrize("name", NAMES)
def test_it_resolves_to_what_is_recorded(answers: dict[str, Any], name: str) -> None:
    expected = {key: it for key, it in recorded.load()["cases"][name].items() if key != "arguments"}
    changed = recorded.difference(expected, recorded.portable(answers[name]))
    assert not changed, f"{name}: if this is right, make test-sglang ARGS=--record\n{changed}"
