"""A request for a place, decided by Redis or here."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gateway.models.grant import Grant
from gateway.models.placing import Ask
from gateway.routing import Placement, Refusal

if TYPE_CHECKING:
    from gateway.models.sharing import Sharing


class Asking:
    """Until `placed` is set, and `wake` called. Who asked calls `leave` in the end, the grant taken or not."""

    __slots__ = (
        "_left",
        "_sharing",
        "_wake",
        "affinity",
        "ask",
        "at",
        "choices",
        "lease",
        "letters",
        "placed",
        "test",
        "tried",
        "waited",
        "waiting_since",
    )

    def __init__(self, sharing: "Sharing", ask: Ask, wake: Callable[[], None], since: float | None = None) -> None:
        """Use `Model.ask`. `since`: the monotonic time since when it waits in the queue, if it does."""
        self._sharing = sharing
        self._wake = wake
        self._left = False
        self.ask = ask
        self.waiting_since = since
        self.placed: Grant | Refusal | None = None
        # What the script is asked, and what its cases stand for.
        self.lease = 0
        self.at = 0.0
        self.test = ""
        self.letters = ""
        self.affinity = ask.affinity
        self.waited = 0
        self.tried: Sequence[str] = ()
        self.choices: Sequence[Placement] = ()

    def take(self) -> Grant | Refusal | None:
        """What there is; a grant is then the caller's to release."""
        placed, self.placed = self.placed, None
        return placed

    def leave(self) -> None:
        """Ask no longer: a grant that was not taken goes back, now or as soon as it comes."""
        self._left = True
        if isinstance(self.placed, Grant):
            self.placed.lease.release()
        self.placed = None

    def settle(self, placed: Grant | Refusal) -> None:
        """This is the answer."""
        if not self._left:
            self.placed = placed
            self._wake()
        elif isinstance(placed, Grant):
            placed.lease.release()

    def answered(self, case: int, url: str) -> None:
        """Redis has decided."""
        self._sharing.answered(self, self.choices[case], url)

    def unanswered(self) -> None:
        """Redis has not."""
        self._sharing.unanswered(self)
