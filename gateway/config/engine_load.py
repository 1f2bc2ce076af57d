"""The `engine_load` section: whether engines are asked what they hold."""

from .section import Comparison, Contradictions, Section
from .values import Seconds, UrlPath


class EngineLoad(Section):
    """Asks engines how many requests they hold, so that those which bypass the gateway count in its choices."""

    enabled: bool = False
    """Whether they are asked."""
    path: UrlPath | None = None
    """Path of the page in Prometheus' text format; by default the engine's own."""
    interval_seconds: Seconds = 2.0
    """Seconds between two readings of one replica, give or take a fifth."""
    stale_after_seconds: Seconds = 10.0
    """Seconds after which a reading counts no more."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._outlives_a_pause,)

    def _outlives_a_pause(self) -> Contradictions:
        if self.stale_after_seconds < 2 * self.interval_seconds:
            reason = f"must be at least twice interval_seconds, which is {self.interval_seconds:g}"
            yield ("stale_after_seconds",), reason
