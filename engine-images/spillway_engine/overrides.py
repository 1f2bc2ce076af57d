"""What an operator changes of a profile: for both pools alike, speculation apart."""

from dataclasses import dataclass, field

from spillway_engine.profile import ProfileError, Scalar


@dataclass(frozen=True, slots=True)
class Overrides:
    """Changes to a profile. A field that is None leaves what the profile says."""

    model_path: str | None = None
    draft_model_path: str | None = None
    served_model_name: str | None = None
    host: str | None = None
    port: int | None = None
    gpus: int | None = None
    max_running_requests: int | None = None
    flags: dict[str, Scalar | None] = field(default_factory=dict)
    """By name without dashes; None takes a flag of the profile out."""
    env: dict[str, str] = field(default_factory=dict)


def parse_flag(text: str) -> tuple[str, Scalar]:
    """NAME=VALUE, or NAME for an option without a value.

    Raises:
        ProfileError: there is no name.
    """
    name, equals, value = text.removeprefix("--").partition("=")
    if not name:
        raise ProfileError(f"{text!r} is no NAME=VALUE")
    if not equals:
        return name, True
    return name, {"true": True, "false": False}.get(value, value)


def parse_variable(text: str) -> tuple[str, str]:
    """NAME=VALUE of the environment.

    Raises:
        ProfileError: it has no name, or no value.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ProfileError(f"{text!r} is no NAME=VALUE")
    return name, value
