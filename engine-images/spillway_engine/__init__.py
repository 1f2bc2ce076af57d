"""Launch profiles of engines: composed, checked against the version and the node, and turned into a command line.

It is a package of its own beside the gateway, because it runs in the engines' image, which holds no gateway: it needs
pydantic, PyYAML and httpx, which SGLang brings along. The gateway's command line offers the same as `spillway engine`.
"""

from spillway_engine.hardware import Architecture
from spillway_engine.overrides import Overrides
from spillway_engine.profile import Profile, ProfileError, load_profile, profile_names
from spillway_engine.render import Launch, render
from spillway_engine.rules import Finding, Level, examine
from spillway_engine.surface import VERSIONS, Surface, SurfaceError, load_surface

__all__ = [
    "VERSIONS",
    "Architecture",
    "Finding",
    "Launch",
    "Level",
    "Overrides",
    "Profile",
    "ProfileError",
    "Surface",
    "SurfaceError",
    "examine",
    "load_profile",
    "load_surface",
    "profile_names",
    "render",
]
