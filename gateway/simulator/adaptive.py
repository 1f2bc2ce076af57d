"""The policy `adaptive` in the simulator: decides by what requests told when they ended, as in the gateway."""

from collections.abc import Mapping
from random import Random

from gateway.learning import Learning, LearningSettings, Observation
from gateway.routing import (
    ROLES,
    AdaptiveSettings,
    AdaptiveState,
    Arrival,
    ModelLoad,
    Placement,
    Role,
    decide,
)
from gateway.simulator.arms import Arm, Prompts
from gateway.simulator.engine import Job


class Adaptive(Arm):
    """`adaptive` with this weight; begins knowing nothing. `shared`: as the configuration's `shared_hardware`."""

    learns = True

    def __init__(self, name: str, weight: float, *, shared: bool, most: int, seed: int) -> None:
        super().__init__(name)
        self._learning = Learning(LearningSettings(weight=weight, shared_hardware=shared))
        self._settings = AdaptiveSettings(weight=weight, shared_hardware=shared, capacity=(most, most))
        self._state = AdaptiveState()
        self._mode = "no_evidence"
        self._random = Random(f"adaptive {seed}").random
        self._pools: Mapping[Role, Prompts] = {}

    @property
    def mode(self) -> str:
        return self._mode

    def meet(self, pools: Mapping[Role, Prompts]) -> None:
        self._pools = pools

    def place(self, load: ModelLoad, job: Job, now: float, /) -> Placement:
        ahead, behind = (self._pools[role].waiting for role in ROLES)
        arrival = Arrival(now, self._random(), job.prompt, (ahead, behind))
        speculative, baseline = self._learning.curves(now)
        decision, self._state = decide(load, speculative, baseline, self._state, self._settings, arrival)
        self.changes, self._mode = self._state.changes, decision.mode
        return decision.placement

    def ended(self, job: Job, /) -> None:
        replica = job.replica
        assert replica is not None
        seconds = job.done - job.first
        if seconds <= 0.0:
            return
        beside = 0.0
        if replica.twin is not None:
            replica.twin.catch_up()
            beside = (replica.twin.area - job.beside) / seconds
        self._learning.observe(
            replica.role,
            Observation(
                at=job.done,
                tokens=int(job.tokens),
                seconds=seconds,
                inflight=max(job.held / seconds, 1.0),
                prompt_tokens=job.prompt,
                ttft=job.first - job.placed,
                waiting=job.waiting,
                beside=beside,
            ),
        )
