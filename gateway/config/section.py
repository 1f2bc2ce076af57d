"""What every mapping of the configuration file has in common."""

from collections.abc import Callable, Iterator
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

# Where in a section a field contradicts another, and the reason in words that follow the field's name.
Contradictions = Iterator[tuple[tuple[str | int, ...], str]]
Comparison = Callable[[], Contradictions]


class Section(BaseModel):
    """A mapping of the file: unknown keys are refused, and a validated one never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    def comparisons(self) -> tuple[Comparison, ...]:
        """What has to hold between fields that are right by themselves."""
        return ()

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        for comparison in self.comparisons():
            for at, reason in comparison():
                raise PydanticCustomError("contradiction", "{reason}", {"reason": reason, "at": at})
        return self
