"""Which options a version of SGLang has, as recorded from the package itself, and how older versions call them.

`surfaces/VERSION.json` is written by `tests/sglang/runtime/record.py`, which asks the parser of that version. Names are
compared exactly: SGLang's own parser accepts any unambiguous beginning of a name, so a launch line that works can stop
working when a version adds an option.
"""

import functools
import json
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from spillway_engine.profile import Environment, Flags, Scalar

PINNED = "0.5.23"
"""The version that profiles are written for and images are built from."""

FOLDER = Path(__file__).parent / "surfaces"
VERSIONS = tuple(
    sorted((path.stem for path in FOLDER.glob("*.json")), key=lambda it: [int(n) for n in it.split(".")], reverse=True)
)


class SurfaceError(Exception):
    """An option or value that a version of SGLang does not know; the message says which, and what to do."""


class Option(BaseModel):
    """One option of the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dest: str
    """What it sets: options with the same are the same."""
    kind: Literal["switch", "value", "values", "optional"]
    type: Literal["str", "int", "float"] = "str"
    choices: tuple[str, ...] = ()
    deprecated: str = ""
    """What the engine says to use in its place."""


class Rename(BaseModel):
    """What an option of the pinned version is in an older one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: str = ""
    """The name there; empty if there is none."""
    values: dict[str, bool | str] = {}
    """Values that are called otherwise there; if there are any, others have no equivalent."""
    reason: str = ""
    """Why there is none."""


class Surface(BaseModel):
    """The options of one version, and the variables of the environment that it reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str
    options: dict[str, Option]
    environment: frozenset[str]
    renamed: dict[str, Rename] = {}

    def translated(self, flags: Flags) -> Flags:
        """Flags of the pinned version as this one calls them.

        Raises:
            SurfaceError: one has no equivalent here.
        """
        return dict(self._translate(name, value) for name, value in flags.items())

    def _translate(self, name: str, value: Scalar) -> tuple[str, Scalar]:
        rename = self.renamed.get(name)
        if rename is None:
            return name, value
        if not rename.to:
            raise SurfaceError(f"SGLang {self.version} has no --{name}: {rename.reason}")
        if not rename.values:
            return rename.to, value
        if str(value) not in rename.values:
            raise SurfaceError(f"SGLang {self.version} has no equivalent of --{name}={value}: {rename.reason}")
        return rename.to, rename.values[str(value)]

    def argument(self, name: str, value: Scalar) -> str | None:
        """One argument of the command line; None if the flag is switched off.

        Raises:
            SurfaceError: this version has no such option, or it takes no such value.
        """
        option = self._option(name)
        if option.kind == "switch":
            if not isinstance(value, bool):
                raise SurfaceError(f"SGLang {self.version}: --{name} takes no value, and {value!r} was given")
            return f"--{name}" if value else None
        if value is False:
            return None
        if value is True:
            if option.kind != "optional":
                raise SurfaceError(f"SGLang {self.version}: --{name} needs a value: give {name}=VALUE")
            return f"--{name}"
        self._check_value(name, option, str(value))
        return f"--{name}={value}"

    def _option(self, name: str) -> Option:
        option = self.options.get(name)
        if option is None:
            near = [it for it in self.options if it.startswith(name)]
            hint = f"; did you mean {' or '.join(f'--{it}' for it in near[:3])}?" if near else ""
            raise SurfaceError(f"SGLang {self.version} has no option --{name}{hint}")
        if option.deprecated:
            raise SurfaceError(f"SGLang {self.version}: --{name} is deprecated: {option.deprecated}")
        return option

    def _check_value(self, name: str, option: Option, value: str) -> None:
        if option.choices and value not in option.choices:
            raise SurfaceError(
                f"SGLang {self.version}: --{name} cannot be {value!r}: choose one of {', '.join(option.choices)}"
            )
        try:
            {"int": int, "float": float, "str": str}[option.type](value)
        except ValueError:
            wanted = {"int": "a whole number", "float": "a number"}[option.type]
            raise SurfaceError(f"SGLang {self.version}: --{name} takes {wanted}, not {value!r}") from None

    def check_environment(self, env: Environment) -> None:
        """Raises SurfaceError for a variable SGLANG_* that this version does not read."""
        for name in env:
            if name.startswith("SGLANG_") and name not in self.environment:
                raise SurfaceError(f"SGLang {self.version} does not read {name}")


@functools.cache
def load_surface(version: str = PINNED) -> Surface:
    """The surface of a version.

    Raises:
        SurfaceError: it was never recorded.
    """
    if version not in VERSIONS:
        raise SurfaceError(f"SGLang {version} is not known here: choose one of {', '.join(VERSIONS)}")
    renamed = yaml.safe_load((FOLDER / "renamed.yaml").read_text()).get(version) or {}
    return Surface.model_validate({**json.loads((FOLDER / f"{version}.json").read_text()), "renamed": renamed})
