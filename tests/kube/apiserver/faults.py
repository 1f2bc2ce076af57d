"""What goes wrong, on demand."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.kube.apiserver.errors import StatusError

Object = dict[str, Any]
Verb = Literal["list", "watch", "any"]


@dataclass
class Refusal:
    """The next `times` requests of this verb get this answer."""

    error: StatusError
    verb: Verb
    times: int


@dataclass
class Faults:
    """`delay`: seconds before each answer. `drops`: which events watches leave out. `broken_pages`: whether a list's
    further pages are refused as expired, though the first was not."""

    delay: float = 0.0
    drops: Callable[[Object], bool] | None = None
    broken_pages: bool = False
    _refusals: list[Refusal] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _deaths: int = 0
    _errors: int = 0
    _error: StatusError | None = None
    _garbage: bytes = b""

    def refuse(self, error: StatusError, verb: Verb = "any", times: int = 1) -> None:
        """Answer the next requests like this."""
        with self._lock:
            self._refusals.append(Refusal(error, verb, times))

    def silence(self) -> None:
        """Every watch that is open stays open, and never says anything again."""
        with self._lock:
            self._deaths += 1

    def fail_watches(self, error: StatusError) -> None:
        """Every watch that is open gets an ERROR event, and ends."""
        with self._lock:
            self._errors += 1
            self._error = error

    def garble_watches(self, line: bytes = b'{"type":"MODIFIED","object":{"metadata":') -> None:
        """Every watch that is open gets this line."""
        with self._lock:
            self._errors += 1
            self._error, self._garbage = None, line

    def heal(self) -> None:
        """From now on all is well, but for watches that have died."""
        with self._lock:
            self.delay, self.drops, self.broken_pages = 0.0, None, False
            self._refusals.clear()

    def check(self, verb: str) -> None:
        """Raises what the request is to be refused with."""
        with self._lock:
            for refusal in self._refusals:
                if refusal.verb in (verb, "any"):
                    refusal.times -= 1
                    if refusal.times <= 0:
                        self._refusals.remove(refusal)
                    raise refusal.error

    def lot(self) -> "Lot":
        """What befalls a watch that opens now."""
        with self._lock:
            return Lot(self, self._deaths, self._errors)


@dataclass
class Lot:
    """What has befallen one watch since it was opened."""

    faults: Faults
    deaths: int
    errors: int

    @property
    def dead(self) -> bool:
        return self.faults._deaths > self.deaths

    @property
    def last_line(self) -> bytes | StatusError | None:
        """What it says before it ends, if it is to end."""
        with self.faults._lock:
            return None if self.faults._errors == self.errors else self.faults._error or self.faults._garbage
