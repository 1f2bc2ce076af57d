"""One model under the policy `adaptive`: what it learns, remembers and decides with."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from random import random
from weakref import WeakKeyDictionary

from gateway.config import AdaptivePolicy
from gateway.learning import Learning, LearningSettings, Observation
from gateway.models.stay import Busy, Stay
from gateway.pools import Pool, Replica
from gateway.routing import (
    ROLES,
    AdaptiveSettings,
    AdaptiveState,
    Arrival,
    Choice,
    Decision,
    ModelLoad,
    Placement,
    Refusal,
    Role,
    decide,
    other,
)

_log = logging.getLogger(__name__)
_WEIGHTS = {"latency": 0.0, "throughput": 1.0}
# Tokens per byte of a request's body before one was counted, and how much a new count weighs.
_PER_BYTE, _MEMORY = 0.2, 0.02


class Adapting:
    """Belongs to a model. `last` is the latest decision, `modes` counts all of them by mode."""

    def __init__(
        self,
        model: str,
        policy: AdaptivePolicy,
        pools: Mapping[Role, Pool],
        clock: Callable[[], float],
        before: "Adapting | None" = None,
    ) -> None:
        """`clock` gives monotonic seconds; what `before` has learned is kept."""
        self._model = model
        self._pools = pools
        self._clock = clock
        self.weight = _WEIGHTS.get(policy.objective, policy.weight)
        fallback, now = policy.fallback, clock()
        capacity = [pool.config.max_inflight if pool.config else 1 for pool in pools.values()]
        self.settings = AdaptiveSettings(
            weight=self.weight,
            shared_hardware=policy.shared_hardware,
            exploration=policy.exploration,
            threshold=fallback.threshold,
            resume_below=fallback.resume_below,
            min_dwell=fallback.min_dwell,
            capacity=(capacity[0], capacity[1]),
        )
        learned = LearningSettings(policy.half_life, self.weight, policy.shared_hardware)
        self.learning = Learning(learned)
        self.state = AdaptiveState()
        self.modes: Counter[str] = Counter()
        self.last: Decision | None = None
        self.per_byte = _PER_BYTE
        self._per_event: dict[Role, float] = {}
        self._waiting = dict.fromkeys(ROLES, 0)
        self._held = {role: Busy(now) for role in ROLES}
        self._busy: WeakKeyDictionary[Replica, Busy] = WeakKeyDictionary()
        if before is not None and before.settings.shared_hardware == policy.shared_hardware:
            if before.learning.settings == learned:
                self.learning = before.learning
            else:
                self.learning.load(before.learning.dump())
            self.state, self.last = before.state, before.last
            self.modes, self.per_byte = before.modes, before.per_byte
        elif policy.curves is not None:
            for role in ROLES:
                points = getattr(policy.curves, role)
                self.learning.prior(role, [(point.inflight, point.rate) for point in points], now)

    def place(self, load: ModelLoad, size: int) -> Placement:
        """Where a request with a body of so many bytes goes."""
        now, per_byte = self._clock(), self.per_byte
        waiting = (
            self._waiting["speculative"] * per_byte / (load.speculative.ready or 1) if load.speculative else 0.0,
            self._waiting["baseline"] * per_byte / (load.baseline.ready or 1) if load.baseline else 0.0,
        )
        arrival = Arrival(now, random(), size * per_byte, waiting)
        decision, self.state = decide(load, *self.learning.curves(now), self.state, self.settings, arrival)
        placement = decision.placement
        if not isinstance(placement, Refusal):
            self.last = decision
            self.modes[decision.mode] += 1
            if _log.isEnabledFor(logging.DEBUG):
                self._tell(decision, placement)
        return placement

    def expected(self, pool: Pool, replica: Replica, size: int) -> Stay:
        """A request is about to get its lease."""
        now, role = self._clock(), pool.role
        self._held[role].until(now, pool.inflight + pool.elsewhere)
        busy = self._busy.get(replica)
        if busy is None:
            busy = self._busy[replica] = Busy(now)
        self._waiting[role] += size
        return Stay(self, role, replica, busy, size, self._waiting[role] / (len(pool.ready) or 1), now)

    def began(self, stay: Stay) -> None:
        """See Watcher."""
        self._waiting[stay.role] -= stay.size

    def ended(self, stay: Stay, now: float) -> None:
        """See Watcher."""
        pool = self._pools[stay.role]
        self._held[stay.role].until(now, pool.inflight + pool.elsewhere + 1)

    def beside(self, role: Role, now: float) -> float:
        """See Watcher."""
        if not self.settings.shared_hardware:
            return 0.0
        there = self._pools[other(role)]
        return self._held[there.role].until(now, there.inflight + there.elsewhere) / (len(self._pools[role].ready) or 1)

    def learn(self, stay: Stay, seen: Observation) -> None:
        """See Watcher."""
        size, tokens, prompt = stay.size, seen.tokens, seen.prompt_tokens
        if prompt > 0 and size:
            self.per_byte += _MEMORY * (prompt / size - self.per_byte)
        known = self._per_event.get(stay.role)
        if tokens < 0:
            # A stream that ended before the engine could say; with no idea how many an event holds, it tells nothing.
            tokens = round((known or 0.0) * seen.events)
        elif seen.events:
            now = tokens / seen.events
            self._per_event[stay.role] = now if known is None else known + _MEMORY * (now - known)
        seen = seen._replace(tokens=tokens, prompt_tokens=max(prompt, 0), waiting=seen.waiting * self.per_byte)
        self.learning.observe(stay.role, seen)

    def _tell(self, decision: Decision, placement: Choice) -> None:
        (fast, base), (gain, instead) = decision.expected, decision.worth
        _log.debug(
            "%s: %s (%s, %s): expected %.1f tok/s in speculative, %.1f in baseline; worth %.1f and %.1f",
            self._model,
            placement.role,
            placement.reason,
            decision.mode,
            fast,
            base,
            gain,
            instead,
        )
