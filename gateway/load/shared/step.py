"""The script of one step on a model's shared counts (step.lua), and how it is called."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple, Protocol

from gateway.load.shared.command import Argument, Command, Opening, arguments

TEXT = resources.files(__package__).joinpath("step.lua").read_text()
SHA = hashlib.sha1(TEXT.encode(), usedforsecurity=False).hexdigest()

# Seconds between two asks for who waits longest, as nobody tells us what other gateways give back.
POLL_SECONDS = 0.02
# How long a place is left to who waits: a gateway that is late for a poll or two does not lose its turn.
PATIENCE = 0.15


class Terms(NamedTuple):
    """What a gateway decides by, as step.lua's arguments 4 to 10; milliseconds and requests."""

    bound: int = 0
    mark: float = -1.0
    dwell: int = 0
    speculative_cap: int = 1
    baseline_cap: int = 1
    speculative_outside: int = 0
    baseline_outside: int = 0


class Asked(Protocol):
    """A request for a lease, as step.lua has it. `waited`: milliseconds in a queue; -1: it overtakes who waits."""

    lease: int
    test: str
    letters: str
    affinity: int
    waited: int
    tried: Sequence[str]


View = Sequence[Argument]


class Script:
    """Calls on behalf of one incarnation of a gateway."""

    def __init__(self, prefix: str, model: str, incarnation: str, expiry: float, patience: float = PATIENCE) -> None:
        """Seconds: `expiry`, and `patience` with who waits and asks no longer."""
        self.incarnation = incarnation
        self._expiry = int(expiry * 1000)
        self._patience = int(patience * 1000)
        base = key_base(prefix, model)
        keys = (
            f"{base}:gateways",
            f"{base}:counts",
            f"{base}:switch",
            f"{base}:leases:{incarnation}",
            f"{base}:view:s:{incarnation}",
            f"{base}:view:b:{incarnation}",
            f"{base}:waiting",
        )
        self._head: Command = (SHA, len(keys), *keys, incarnation)
        self._by_name, self._whole = arguments(("EVALSHA", SHA)), arguments(("EVAL", TEXT))
        self._terms: Terms | None = None
        self._opening: Opening

    def hello(self) -> Command:
        """Enter the gateways. Holds nothing yet, so that one which comes late, after it was given up, does no harm."""
        return ("EVALSHA", *self._head, "hello", self._expiry)

    def step(
        self,
        what: str,
        terms: Terms,
        *,
        forget: Sequence[str] = (),
        adopt: Mapping[int, str] | None = None,
        views: tuple[View, View] | None = None,
        release: Sequence[int] = (),
        asks: Sequence[Asked] = (),
    ) -> Command:
        """One step; the script says what each part does."""
        head = self._head
        arguments: list[Argument] = ["EVALSHA", *head, what, self._expiry, *terms, self._patience, len(forget), *forget]
        if adopt:
            arguments.append(2 * len(adopt))
            for lease, field in adopt.items():
                arguments += (lease, field)
        else:
            arguments.append(0)
        if views is None:
            arguments += (-1, -1)
        else:
            for view in views:
                arguments.append(len(view))
                arguments += view
        return (*arguments, *_moves(release, asks))

    def brief(self, terms: Terms, release: Sequence[int], asks: Sequence[Asked]) -> bytes:
        """A step that has nothing but these, packed. Nearly all of it is as it was the time before."""
        if terms is not self._terms:
            self._terms = terms
            self._opening = Opening(
                ("EVALSHA", *self._head, "step", self._expiry, *terms, self._patience, 0, 0, -1, -1)
            )
        return self._opening.then(_moves(release, asks))

    def unabridged(self, packed: bytes) -> bytes:
        """A packed step with the script in place of its name, for a server that does not know it."""
        return packed.replace(self._by_name, self._whole, 1)


def _moves(release: Sequence[int], asks: Sequence[Asked]) -> Command:
    arguments: list[Argument] = [len(release), *release, len(asks)]
    for ask in asks:
        arguments += (ask.lease, ask.test, ask.letters, ask.affinity, ask.waited, len(ask.tried), *ask.tried)
    return tuple(arguments)


def member(url: str, outside: int) -> str:
    """A ready replica in a view; `outside`: the requests that its engine holds beside ours."""
    return f"{outside} {url}" if outside else url


def key_base(prefix: str, model: str) -> str:
    """What all keys of a model begin with; the braces put them into one slot of a cluster."""
    return f"{prefix}:{{{model.replace('%', '%25').replace('{', '%7B').replace('}', '%7D')}}}"
