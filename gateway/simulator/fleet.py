"""Two pools of simulated replicas behind a policy: admission, queueing and release as the gateway does them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateway.load import QueueFullError, Ticket, WaitQueue
from gateway.routing import ROLES, Choice, ModelLoad, PoolLoad, Role, balanced, digest
from gateway.simulator.agenda import Agenda
from gateway.simulator.arms import Arm
from gateway.simulator.engine import EngineModel, Job, Replica, Tally
from gateway.simulator.sharing import Sharing


class Site(NamedTuple):
    """Replicas of each pool, how fast they are, and the gateway's bounds on them (seconds, requests).

    `shared`: how the n-th replicas of both pools, as far as there are, get along on the same hardware.
    """

    speculative: EngineModel
    baseline: EngineModel
    replicas: tuple[int, int] = (1, 1)
    max_inflight: int = 128
    shared: Sharing = "own"
    queue_size: int = 128
    queue_timeout: float = 30.0


class Pool:
    """Replicas of one role."""

    def __init__(self, replicas: Sequence[Replica], max_inflight: int, tally: Tally) -> None:
        self._tally = tally
        self.inflight = 0
        self.replicas = replicas
        self.max_inflight = max_inflight
        self._ring = sorted(replicas, key=lambda replica: replica.digest)
        self._room = len(replicas) * max_inflight

    def load(self) -> PoolLoad:
        """What a policy sees."""
        inflight = self.inflight
        return PoolLoad(inflight, len(self.replicas), True, inflight < self._room)

    @property
    def waiting(self) -> float:
        """Tokens of prompts without a first token, per replica."""
        return self._tally.waiting / len(self.replicas)

    def pick(self, affinity: int) -> Replica:
        """The replica for one more request, by the gateway's own balancing. There is room."""
        replica = balanced(self._ring, affinity, self.inflight, self.max_inflight)
        assert replica is not None
        return replica

    def served(self) -> float:
        """Tokens generated until now."""
        for replica in self.replicas:
            replica.catch_up()
        return sum(replica.served for replica in self.replicas)


class Fleet:
    """The whole that requests arrive at."""

    def __init__(
        self,
        agenda: Agenda,
        site: Site,
        arm: Arm,
        ended: Callable[[Job], None],
        refused: Callable[[Job], None],
    ) -> None:
        """`ended` is told of requests that are done, `refused` of those that found the queue full or waited in vain."""
        self._agenda = agenda
        self._arm = arm
        self._tell = ended
        self._refused = refused
        self._timeout = site.queue_timeout
        self._queue: WaitQueue[Replica] = WaitQueue(site.queue_size)
        self.pools: dict[Role, Pool] = {}
        for role, model, count in zip(ROLES, (site.speculative, site.baseline), site.replicas, strict=True):
            tally = Tally()
            replicas = [
                Replica(agenda, role, digest(f"{role}-{number}".encode()), model, tally, self._ended)
                for number in range(count)
            ]
            self.pools[role] = Pool(replicas, site.max_inflight, tally)
        self._speculative, self._baseline = self.pools["speculative"], self.pools["baseline"]
        arm.meet(self.pools)
        if site.shared != "own":
            for one, other in zip(self._speculative.replicas, self._baseline.replicas, strict=False):
                one.share_with(other, site.shared)
                other.share_with(one, site.shared)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    def load(self) -> ModelLoad:
        """What a policy sees."""
        return ModelLoad(self._speculative.load(), self._baseline.load())

    def arrive(self, job: Job) -> None:
        """A request comes, now."""
        job.arrived = self._agenda.now
        if not (self._queue and self._queue.blocks(None)) and self._admit(job) is not None:
            return
        try:
            ticket = self._queue.join(None, lambda: self._admit(job), lambda: None)
        except QueueFullError:
            self._refused(job)
            return
        self._agenda.at(self._agenda.now + self._timeout, lambda: self._give_up(ticket, job))

    def accept(self, accept_length: float) -> None:
        """From now on this traffic accepts so many tokens a step: a step takes as long as before and gives these."""
        for replica in self._speculative.replicas:
            if replica.model.accept_length is not None:
                replica.scale = accept_length / replica.model.accept_length
                replica.refresh()

    def _admit(self, job: Job) -> Replica | None:
        placement = self._arm.place(self.load(), job, self._agenda.now)
        if not isinstance(placement, Choice):
            return None
        pool = self.pools[placement.role]
        replica = pool.pick(job.affinity)
        pool.inflight += 1
        job.prefill, job.lag = replica.model.prefill(job.prompt), replica.model.lag_at(replica.inflight + 1)
        # The first token comes with the end of the prompt.
        job.work = job.tokens - 1.0 if job.prefill > 0.0 or job.lag > 0.0 else job.tokens
        replica.add(job)
        if self._arm.watches:
            self._arm.settled(self.load(), self._agenda.now)
        return replica

    def _give_up(self, ticket: Ticket[Replica], job: Job) -> None:
        if ticket.grant is None:
            ticket.leave()
            self._refused(job)

    def _ended(self, jobs: list[Job]) -> None:
        for job in jobs:
            assert job.replica is not None
            self.pools[job.replica.role].inflight -= 1
        arm, now = self._arm, self._agenda.now
        if arm.learns:
            for job in jobs:
                arm.ended(job)
        if arm.watches:
            arm.settled(self.load(), now)
        if self._queue:
            self._queue.serve()
        for job in jobs:
            self._tell(job)
