"""How many retries are allowed: a token bucket that requests fill and retries empty.

A dead replica is retried around; engines that all fail must not get several times the traffic for it.
"""

from gateway.config import Retries


class RetryBudget:
    """Each request adds `ratio` tokens up to `burst`; each retry takes one."""

    def __init__(self, settings: Retries) -> None:
        """Start full."""
        self.settings = settings
        self._tokens = float(settings.burst)

    def reconfigure(self, settings: Retries) -> None:
        """Take over new settings."""
        self.settings = settings
        self._tokens = min(self._tokens, float(settings.burst))

    def earn(self) -> None:
        """A request has arrived."""
        self._tokens = min(self._tokens + self.settings.ratio, float(self.settings.burst))

    def spend(self) -> bool:
        """Take one retry, if there is one."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
