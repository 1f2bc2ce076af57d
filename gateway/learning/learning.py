"""Both pools of a model: what was observed, and the curves that the policy reads."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gateway.learning.observation import Observation
from gateway.learning.pool import PoolLearning
from gateway.learning.ttft import share
from gateway.routing import NODES, ROLES, AdaptiveSettings, Curve, Role, gains

# Seconds between fits, whatever comes in meanwhile.
_REFIT = 1.0


class LearningSettings(NamedTuple):
    """`half_life`: seconds after which an observation counts half; `weight` and `shared_hardware`: see the policy."""

    half_life: float = 300.0
    weight: float = AdaptiveSettings().weight
    shared_hardware: bool = False


class Learning:
    """Learns from requests that have ended. Holds sums, and those that have just ended together: its size does not grow
    with what it has seen."""

    def __init__(self, settings: LearningSettings) -> None:
        """Know nothing."""
        self.settings = settings
        shared = settings.shared_hardware
        self.pools: dict[Role, PoolLearning] = {
            role: PoolLearning(settings.half_life, settings.weight, shared=shared) for role in ROLES
        }
        self._fitted = float("-inf")
        self._curves: tuple[Curve, Curve] = self._fit()

    def observe(self, role: Role, seen: Observation) -> None:
        """A request of this pool has ended."""
        self.pools[role].observe(seen)

    def prior(self, role: Role, points: Sequence[tuple[float, float]], at: float = 0.0) -> None:
        """Begin with (in-flight on a replica, tokens per second of one request), as if it had been observed then."""
        self.pools[role].prior(points, at)

    def curves(self, now: float) -> tuple[Curve, Curve]:
        """Of the speculative and of the baseline pool; of what was known up to a second ago."""
        if now - self._fitted >= _REFIT:
            self._fitted = now
            self._curves = self._fit()
        return self._curves

    def dump(self) -> dict[str, Any]:
        """All that was learned, as JSON-able values."""
        return {role: pool.dump() for role, pool in self.pools.items()}

    def load(self, dumped: Mapping[str, Any]) -> None:
        """Take over what `dump` gave, into a learning that knows nothing yet and goes by the same clock."""
        for role, pool in self.pools.items():
            pool.load(dumped[role])

    def _fit(self) -> tuple[Curve, Curve]:
        speculative, baseline = self.pools["speculative"], self.pools["baseline"]
        share(speculative.first, baseline.first)
        speculative.refresh()
        baseline.refresh()
        return speculative.curve, baseline.curve


def exact_curve(points: Sequence[tuple[float, float]], weight: float, now: float = float("inf")) -> Curve:
    """The curve through known points (in-flight, tokens per second of one request), which never goes stale.

    Between points, seconds per token are on a straight line; beyond the last one the total stays what it is there.
    """
    paces = []
    for node in NODES:
        at = next((number for number, (count, _) in enumerate(points) if count >= node), len(points))
        if at == 0:
            paces.append(1 / points[0][1])
        elif at == len(points):
            count, rate = points[-1]
            paces.append(node / (count * rate))
        else:
            (low, slow), (high, fast) = points[at - 1], points[at]
            paces.append(1 / slow + (node - low) / (high - low) * (1 / fast - 1 / slow))
    rates = tuple(1 / pace for pace in paces)
    return Curve(rates, gains(rates, weight), (1e9,) * len(NODES), 1e9, now, 0.0)
