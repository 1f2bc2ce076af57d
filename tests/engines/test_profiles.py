"""The profiles that are shipped: composed, the same but for speculation, and valid by their schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from spillway_engine import (
    VERSIONS,
    Architecture,
    Overrides,
    ProfileError,
    SurfaceError,
    examine,
    load_profile,
    profile_names,
    render,
)
from spillway_engine.profile import PROFILES
from spillway_engine.schema import schema
from spillway_engine.surface import PINNED

NAMES = profile_names()
MODELS = sorted({name.partition("/")[0] for name in NAMES})
ARCHITECTURES = list(Architecture)


def test_there_are_those_that_are_promised() -> None:
    kinds = ("baseline", "eagle3-adaptive", "eagle3-chain", "eagle3-tree")
    assert [f"{model}/{kind}" for model in ("kimi-k2.5", "llama-3.1-8b") for kind in kinds] == NAMES


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_the_pools_of_a_model_differ_in_speculation_alone(model: str, version: str, architecture: Architecture) -> None:
    baseline = render(load_profile(f"{model}/baseline"), version=version, architecture=architecture)
    for name in NAMES:
        if not name.startswith(f"{model}/eagle3-"):
            continue
        if version == "0.5.9" and name.endswith("adaptive"):
            with pytest.raises(SurfaceError, match=r"adaptive drafting came with 0\.5\.11"):
                render(load_profile(name), version=version, architecture=architecture)
            continue
        other = render(load_profile(name), version=version, architecture=architecture)
        assert other.env == baseline.env
        common = len(baseline.command)
        assert other.command[:common] == baseline.command
        assert other.command[common:]
        assert all(flag.startswith("--speculative-") for flag in other.command[common:])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_any_of_them(name: str, architecture: Architecture) -> None:
    assert examine(render(load_profile(name), architecture=architecture), None) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_override_of_speculation_is_refused_for_a_baseline(version: str) -> None:
    profile = load_profile("llama-3.1-8b/baseline")
    with pytest.raises(ProfileError, match="does not speculate"):
        render(profile, version=version, overrides=Overrides(flags={"speculative-num-steps": "3"}))
    with pytest.raises(ProfileError, match="takes no drafter"):
        render(profile, version=version, overrides=Overrides(draft_model_path="/models/x"))


def test_every_file_is_valid_by_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    files = sorted(PROFILES.glob("*/*.yaml"))
    assert len(files) == len(NAMES) + len(MODELS)
    for path in files:
        validator.validate(yaml.safe_load(path.read_text()))


def test_the_schema_that_is_shipped_is_that_of_the_code() -> None:
    shipped = json.loads((PROFILES / "schema.json").read_text())
    assert shipped == schema(), "write it anew: python -m spillway_engine.schema > engine-images/profiles/schema.json"


def test_every_flag_has_its_reason() -> None:
    for path in PROFILES.glob("*/base.yaml"):
        lines = path.read_text().splitlines()
        start = lines.index("flags:")
        assert lines[start + 1].lstrip().startswith("#"), path
    for path in PROFILES.glob("*/*.yaml"):
        assert path.read_text().startswith("# "), path


def _write(folder: Path, **files: Any) -> Path:
    (folder / "m").mkdir()
    for name, content in files.items():
        (folder / "m" / f"{name}.yaml").write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return folder


BASE: dict[str, Any] = {
    "model": "m",
    "model_path": "/m",
    "attention": "mha",
    "hardware": {"architectures": ["sm90"], "gpus": 1},
    "flags": {},
}
DRAFTS = {"algorithm": "EAGLE3", "draft_model_path": "/d", "num_steps": 1, "eagle_topk": 1, "num_draft_tokens": 2}


@pytest.mark.parametrize(
    ("base", "extension", "complaint"),
    [
        (BASE | {"flags": {"speculative-num-steps": 3}}, {}, "belongs into a profile that extends this one"),
        (BASE | {"flag": {}}, {}, "flag: Extra inputs are not permitted"),
        (BASE | {"flags": {"--tp": 3}}, {}, r"flags\.--tp"),
        (BASE, {"role": "speculative"}, "role speculative needs `speculation`"),
        (BASE, {"speculation": DRAFTS}, "role baseline has none"),
        (BASE, {"extends": "absent"}, r"absent\.yaml"),
        ("a: [", {}, "base.yaml"),
        ("- a", {}, "is not a mapping"),
    ],
)
def test_a_wrong_profile_is_refused(tmp_path: Path, base: Any, extension: Any, complaint: str) -> None:
    root = _write(tmp_path, base=base, p={"extends": "base", "role": "baseline", **extension})
    with pytest.raises(ProfileError, match=complaint):
        load_profile("m/p", root)


def test_a_profile_that_is_not_there_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"there is no profile 'kimi-k2\.5/base': choose one of kimi-k2\.5/baseline"):
        load_profile("kimi-k2.5/base")


def test_the_pinned_version_is_recorded() -> None:
    assert VERSIONS[0] == PINNED
    assert len(VERSIONS) == 3
