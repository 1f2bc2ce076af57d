"""From a profile to a command line: the same one in the image, in the chart's tests and in front of an operator."""

import shlex
from dataclasses import dataclass

from spillway_engine.hardware import Architecture
from spillway_engine.overrides import Overrides
from spillway_engine.profile import Environment, Flags, Profile, ProfileError, Scalar
from spillway_engine.surface import PINNED, SurfaceError, load_surface

_MODULE = ("python3", "-m", "sglang.launch_server")


@dataclass(frozen=True, slots=True)
class Launch:
    """An engine as it is started."""

    profile: Profile
    version: str
    architecture: Architecture
    flags: Flags
    """As the pinned version calls them, in the order of the command line; none that is switched off."""
    command: tuple[str, ...]
    env: Environment

    def text(self) -> str:
        """Command and environment for a shell, one flag a line."""
        env = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.env.items())]
        head = [*env, shlex.join(self.command[: len(_MODULE)])]
        return " \\\n".join([" ".join(head), *(f"  {shlex.quote(it)}" for it in self.command[len(_MODULE) :])])


def render(
    profile: Profile,
    *,
    version: str = PINNED,
    architecture: Architecture | None = None,
    overrides: Overrides | None = None,
) -> Launch:
    """The command line of a profile on an architecture, by default the first that the profile is for.

    Raises:
        ProfileError: an override does not go with the profile.
        SurfaceError: the version has not got what the profile or an override asks for.
    """
    changes = overrides or Overrides()
    surface = load_surface(version)
    architecture = architecture or profile.base.hardware.architectures[0]
    flags = {name: value for name, value in _flags(profile, architecture, changes).items() if value is not False}
    additions = profile.base.by_architecture.get(architecture)
    env = {**profile.base.env, **(additions.env if additions else {}), **changes.env}
    try:
        arguments = [surface.argument(name, value) for name, value in surface.translated(flags).items()]
        surface.check_environment(env)
    except SurfaceError as error:
        raise SurfaceError(f"profile {profile.name}: {error}") from None
    command = (*_MODULE, *(it for it in arguments if it is not None))
    return Launch(profile, version, architecture, flags, command, env)


def _flags(profile: Profile, architecture: Architecture, changes: Overrides) -> Flags:
    """Those of both pools, and at the end those of speculation."""
    base = profile.base
    additions = base.by_architecture.get(architecture)
    named = {"host": changes.host, "port": changes.port, "max-running-requests": changes.max_running_requests}
    flags: Flags = {
        "model-path": changes.model_path or base.model_path,
        "served-model-name": changes.served_model_name or base.model,
        "tp-size": changes.gpus or base.hardware.gpus,
        **base.flags,
        **(additions.flags if additions else {}),
        **{name: given for name, given in named.items() if given is not None},
    }
    speculation = _speculation(profile, changes)
    for name, value in changes.flags.items():
        speculative = name.startswith("speculative-")
        if speculative and profile.speculation is None:
            raise ProfileError(f"profile {profile.name} does not speculate: {name} goes with one that does")
        _change(profile, speculation if speculative else flags, name, value)
    return flags | speculation


def _change(profile: Profile, flags: Flags, name: str, value: Scalar | None) -> None:
    if value is not None:
        flags[name] = value
    elif flags.pop(name, None) is None:
        raise ProfileError(f"profile {profile.name} has no flag {name} to take out")


def _speculation(profile: Profile, changes: Overrides) -> Flags:
    if (it := profile.speculation) is None:
        if changes.draft_model_path:
            raise ProfileError(f"profile {profile.name} does not speculate: it takes no drafter")
        return {}
    flags: Flags = {
        "speculative-algorithm": it.algorithm,
        "speculative-draft-model-path": changes.draft_model_path or it.draft_model_path,
        "speculative-num-steps": it.num_steps,
        "speculative-eagle-topk": it.eagle_topk,
        "speculative-num-draft-tokens": it.num_draft_tokens,
    }
    if it.adaptive:
        flags["speculative-adaptive"] = True
    if it.adaptive_config:
        flags["speculative-adaptive-config"] = str(profile.folder / it.adaptive_config)
    return flags
