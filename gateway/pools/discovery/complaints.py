"""Says in the log what goes wrong with a pool's discovery, once, and when it is over."""

import logging
import time

_log = logging.getLogger(__name__)
_REMIND_SECONDS = 600.0


class Complaints:
    """What was said about each kind of request. `name` is the pool's."""

    def __init__(self, name: str) -> None:
        """Nothing to complain about."""
        self._name = name
        self._since: float | None = None
        self._failing: set[str] = set()
        self._said: dict[str, float] = {}

    def failed(self, kind: str, message: str, known: int) -> None:
        """Say it, unless it was said less than ten minutes ago. `known` endpoints serve on."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        self._failing.add(kind)
        self._said = {said: at for said, at in self._said.items() if now - at < _REMIND_SECONDS}
        if message not in self._said:
            self._said[message] = now
            _log.warning("%s: %s; the %d endpoints known keep serving, trying again", self._name, message, known)

    def well(self, kind: str) -> None:
        """This kind works, perhaps again; if none fails now, all is forgotten."""
        self._failing.discard(kind)
        if self._since is not None and not self._failing:
            _log.info("%s: discovery works again after %.0f s", self._name, time.monotonic() - self._since)
            self._since = None
            self._said.clear()
