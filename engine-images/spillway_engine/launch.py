"""Becoming the engine: checked, then executed in place of this process, so that signals reach the engine itself."""

import os
import sys
from collections.abc import Collection, Mapping
from typing import NoReturn, TextIO

from spillway_engine.hardware import Architecture
from spillway_engine.node import Node, NodeError, this_node
from spillway_engine.overrides import Overrides
from spillway_engine.profile import Profile
from spillway_engine.render import Launch, render
from spillway_engine.rules import Finding, Level, examine

REFUSED = 3
"""The exit status of a launch that was refused: the node or the launch is wrong, and trying again does not help."""


def check(
    profile: Profile, version: str, overrides: Overrides, allowed: Collection[str]
) -> tuple[Launch, list[Finding]]:
    """The launch on this node, for its own GPUs, and what is wrong with it; what is allowed by name becomes a warning.

    Raises:
        NodeError: the node could not be asked.
        ProfileError: an override does not go with the profile.
        SurfaceError: the version has not got what is asked for.
    """
    node = this_node()
    launch = render(profile, version=version, architecture=_architecture(node), overrides=overrides)
    found = [
        Finding(Level.WARN, it.name, f"{it.message} (allowed)") if it.name in allowed else it
        for it in examine(launch, node)
    ]
    return launch, found


def _architecture(node: Node) -> Architecture | None:
    return Architecture.of(node.capabilities[0]) if node.capabilities else None


def tell(findings: Collection[Finding], stream: TextIO) -> bool:
    """Print what was found; returns whether the launch may go ahead."""
    for finding in findings:
        print(finding, file=stream)
    return not any(it.level is Level.REFUSE for it in findings)


def become(launch: Launch, environment: Mapping[str, str]) -> NoReturn:
    """Execute the engine in place of this process. What `environment` says goes before the launch's own variables.

    Raises:
        OSError: the interpreter is not there.
    """
    print(launch.text(), file=sys.stderr, flush=True)
    os.execvpe(launch.command[0], launch.command, {**launch.env, **environment})


__all__ = ["REFUSED", "NodeError", "become", "check", "tell"]
