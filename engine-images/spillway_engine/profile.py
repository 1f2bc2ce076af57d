"""Profiles: what a pool's engines are launched with, as data.

A profile is a file `MODEL/NAME.yaml`. One that `extends` another takes all of it and adds who it is for and how it
speculates, and nothing else: so the two pools of a model cannot drift apart.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

import pydantic
import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from spillway_engine.hardware import Architecture

Scalar = bool | int | float | str
FlagName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
VariableName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
Flags = dict[FlagName, Scalar]
Environment = dict[VariableName, str]

_BESIDE = Path(__file__).parent / "profiles"
# In an installation the profiles lie in the package, in a checkout beside it.
PROFILES = _BESIDE if _BESIDE.is_dir() else Path(__file__).parents[1] / "profiles"


class ProfileError(Exception):
    """A profile that can't be read, composed or rendered; the message says which, where and why."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_AnySection = TypeVar("_AnySection", bound=_Section)


class Hardware(_Section):
    """The node that a profile is for."""

    architectures: tuple[Architecture, ...] = Field(min_length=1)
    gpus: PositiveInt
    """GPUs of one engine, which is the tensor parallelism too."""
    driver: int = 580
    """The oldest major version of NVIDIA's driver. CUDA 13 needs 580."""
    shared_memory_gib: PositiveInt = 16
    """What /dev/shm must have, in GiB: the processes of one engine exchange data through it."""


class Additions(_Section):
    """What one architecture gets beside the profile's own flags."""

    flags: Flags = {}
    env: Environment = {}


class Base(_Section):
    """A profile that stands by itself: everything but speculation."""

    model: str
    """The name that is served unless another is given."""
    model_path: str
    attention: Literal["mha", "mla"]
    """The model's kind of attention, on which it depends what a back end can do."""
    hardware: Hardware
    flags: Flags
    """SGLang's options by their names in the pinned version, without dashes; true stands for one without a value."""
    env: Environment = {}
    by_architecture: dict[Architecture, Additions] = {}

    @model_validator(mode="after")
    def _no_speculation(self) -> Self:
        for flags in (self.flags, *(it.flags for it in self.by_architecture.values())):
            for name in flags:
                if name.startswith("speculative-"):
                    raise ValueError(f"{name} belongs into a profile that extends this one, under speculation")
        return self


class Speculation(_Section):
    """How the engine drafts. SGLang's options `--speculative-*` of the same names."""

    algorithm: str
    draft_model_path: str
    num_steps: PositiveInt
    eagle_topk: PositiveInt
    num_draft_tokens: PositiveInt
    adaptive: bool = False
    adaptive_config: str = ""
    """File with the tiers, beside the profile."""


class Extension(_Section):
    """A profile that adds speculation, or nothing, to another of the same folder."""

    extends: str
    role: Literal["speculative", "baseline"]
    speculation: Speculation | None = None

    @model_validator(mode="after")
    def _role_fits(self) -> Self:
        if (self.role == "speculative") != (self.speculation is not None):
            raise ValueError("role speculative needs `speculation`, and role baseline has none")
        return self


class Profile(_Section):
    """A profile as it is launched: a base, and how it speculates."""

    name: str
    """MODEL/NAME."""
    folder: Path
    role: Literal["speculative", "baseline"]
    base: Base
    speculation: Speculation | None


def profile_names(root: Path = PROFILES) -> list[str]:
    """The profiles that can be launched, as MODEL/NAME."""
    return sorted(_names(root))


def _names(root: Path) -> Iterator[str]:
    for path in root.glob("*/*.yaml"):
        if "extends" in _read(path):
            yield f"{path.parent.name}/{path.stem}"


def load_profile(name: str, root: Path = PROFILES) -> Profile:
    """Read and compose a profile.

    Raises:
        ProfileError: there is none of this name, or its file or its base has a mistake.
    """
    if name not in (known := profile_names(root)):
        raise ProfileError(f"there is no profile {name!r}: choose one of {', '.join(known) or f'none, in {root}'}")
    path = root / f"{name}.yaml"
    extension = _parse(path, Extension)
    base = _parse(path.parent / f"{extension.extends}.yaml", Base)
    return Profile(name=name, folder=path.parent, role=extension.role, base=base, speculation=extension.speculation)


def _parse(path: Path, kind: type[_AnySection]) -> _AnySection:
    try:
        return kind.model_validate(_read(path))
    except pydantic.ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, it['loc'])) or 'the file'}: {it['msg'].removeprefix('Value error, ')}"
            for it in error.errors()
        )
        raise ProfileError(f"{path}: {problems}") from None


def _read(path: Path) -> dict[str, object]:
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ProfileError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ProfileError(f"{path}: is not a mapping")
    return content
