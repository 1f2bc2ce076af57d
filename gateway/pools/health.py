"""When a replica may take requests. A state machine over probes and requests; it holds no clock and does no I/O.

Slow is not dead: a probe that connects but is not answered in time counts only while the engine sends nothing on any of
its connections, and then only after `hang_seconds`. A probe that is refused, reset or answered badly counts at once.
"""

from gateway.config import Health as HealthSettings
from gateway.pools.trouble import PROBES, REQUESTS, UNPROBED, Trouble


class Health:
    """One replica's health. Times are seconds of one monotonic clock."""

    __slots__ = (
        "_cause",
        "_ejected_until",
        "_ejections",
        "_failures",
        "_probe_failures",
        "_silent_since",
        "ready",
        "settings",
    )

    def __init__(self, settings: HealthSettings) -> None:
        """Not ready until a first probe succeeds."""
        self.settings = settings
        self.ready = False
        self._cause = UNPROBED
        self._failures = 0
        self._probe_failures = 0
        self._silent_since: float | None = None
        self._ejections = 0
        self._ejected_until = 0.0

    @property
    def trouble(self) -> Trouble | None:
        """Why it is not ready; None if it is."""
        return None if self.ready else self._cause

    @property
    def unprobed(self) -> bool:
        """Whether no probe has said anything yet, good or bad."""
        return not self.ready and self._cause is UNPROBED

    def probe_succeeded(self, now: float) -> None:
        """The engine said that it is well: ready, unless it is still ejected for what requests saw."""
        self._probe_failures = 0
        self._silent_since = None
        if now >= self._ejected_until:
            self.ready = True
        else:
            self._cause = REQUESTS

    def probe_failed(self, cause: Trouble = PROBES, *, answered: bool = False) -> None:
        """The engine refused, reset or, if `answered`, said that it is unwell."""
        self._cause = cause
        if answered:
            self._silent_since = None
        self._probe_failures += 1
        if self._probe_failures >= self.settings.unhealthy_after:
            self.ready = False

    def probe_unanswered(self, started: float, now: float, cause: Trouble = PROBES, *, progressed: bool) -> None:
        """No answer came in time; `progressed` says whether the engine sent anything to anybody meanwhile."""
        self._cause = cause
        if progressed:
            self._silent_since = None
            return
        if self._silent_since is None:
            self._silent_since = started
        if self.hangs(now):
            self.ready = False

    @property
    def silent(self) -> bool:
        """Whether probes go unanswered while the engine sends nothing to anybody."""
        return self._silent_since is not None

    def hangs(self, now: float) -> bool:
        """Whether the engine has sent nothing at all for `hang_seconds`: what waits for it waits in vain."""
        return self._silent_since is not None and now - self._silent_since >= self.settings.hang_seconds

    def request_failed(self, now: float) -> None:
        """A request got no answer, half an answer, or 502, 503 or 504."""
        self._failures += 1
        if self._failures < self.settings.eject_after or not self.ready:
            return
        self.ready = False
        self._cause = REQUESTS
        self._failures = 0
        self._ejections += 1
        pause = self.settings.eject_seconds * 2 ** min(self._ejections - 1, 30)
        self._ejected_until = now + min(pause, self.settings.eject_max_seconds)

    def request_succeeded(self) -> None:
        """A request was answered to its end: what came before is forgotten."""
        self._failures = 0
        self._ejections = 0
