"""Whom a link serves and whom it tells."""

from collections.abc import Mapping
from typing import Literal, Protocol

from gateway.load.shared.step import Asked, Terms, View

State = Literal["joining", "up", "down"]


class Ask(Asked, Protocol):
    """A request for a lease. One of the two methods is called, once."""

    at: float

    def answered(self, case: int, url: str) -> None:
        """Redis has decided: the case of the table, and the replica if that is a place."""
        ...

    def unanswered(self) -> None:
        """Redis does not answer: decide without it."""
        ...


class Owner(Protocol):
    """Whose counts they are: one model."""

    def version(self) -> int:
        """A number that changes when `views` does."""
        ...

    def terms(self) -> Terms:
        """What to decide by now."""
        ...

    def views(self) -> tuple[View, View]:
        """The ready replicas of both pools, as step.lua has them."""
        ...

    def counted(self, counts: Mapping[str, int]) -> None:
        """A heartbeat brought the counts of pools and replicas, over all gateways."""
        ...

    def link_changed(self) -> None:
        """Redis decides from now on, or no longer."""
        ...


class Journal(Protocol):
    """Who is told what happens, of each model."""

    def changed(self) -> None:
        """The state of a link is another."""
        ...

    def failed(self, model: str, kind: str) -> None:
        """Redis failed: timeout, connection or error."""
        ...

    def forgotten(self, model: str, seconds: float, held: int) -> None:
        """Redis had dropped this gateway's leases, so many, after it had last been heard so long ago."""
        ...

    def waited(self, model: str, seconds: float) -> None:
        """A request had its answer after so long."""
        ...
