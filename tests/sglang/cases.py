"""The launch lines that are resolved: every profile on every architecture, with the models' stand-ins."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spillway_engine import Architecture, Launch, Overrides, Profile, load_profile, profile_names, render

FOLDER = Path(__file__).parent
MODELS = FOLDER / "models"
"""Each has a config.json of a model's shape, written for parsing; none is a checkpoint's own."""


@dataclass(frozen=True, slots=True)
class Case:
    """A profile on an architecture."""

    profile: Profile
    architecture: Architecture

    @property
    def name(self) -> str:
        """As in the recorded file."""
        return f"{self.profile.name} on {self.architecture}"

    def launch(self) -> Launch:
        """As it would be started there."""
        return render(self.profile, architecture=self.architecture)

    def arguments(self) -> list[str]:
        """Arguments of the launch, with the stand-ins of model and drafter."""
        drafter = self.profile.speculation
        overrides = Overrides(
            model_path=str(MODELS / Path(self.profile.base.model_path).name),
            draft_model_path=str(MODELS / Path(drafter.draft_model_path).name) if drafter else None,
        )
        launch = render(self.profile, architecture=self.architecture, overrides=overrides)
        return list(launch.command[3:])


def cases() -> Iterator[Case]:
    """All of them."""
    for name in profile_names():
        profile = load_profile(name)
        for architecture in Architecture:
            if architecture in profile.base.hardware.architectures:
                yield Case(profile, architecture)
