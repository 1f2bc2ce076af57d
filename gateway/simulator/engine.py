"""A replica as a queue: prompts one after the other, tokens of all requests at equal speed (processor sharing).

Each request that is being answered gets r(n) tokens per second, where n is what the replica holds, prompts that are or
will be processed included. So all get the same service, and one number, the service that a request would have had since
the replica was last idle, says when each is done: at its own start plus its tokens. Requests are kept in a heap by that
end, which no arrival and no departure changes, and an event costs O(log n).
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from gateway.routing import Role
from gateway.simulator.agenda import Agenda
from gateway.simulator.sharing import Sharing, left

NEVER = float("inf")
# Service and time are summed up in floating point: what is left below these shares of them counts as done.
_ROUNDING = 1e-9
_TICK = 1e-14


class EngineModel(NamedTuple):
    """How fast a replica is.

    `rates[n]`: tokens per second that each request gets while the replica holds n and no prompt is processed; beyond
    the end, the last total is shared. Prompts take `prefill_seconds` each and one second per `prefill_rate` tokens;
    while one is processed, the others lose the share `stall` of their speed. `accept_length`: tokens per step of
    drafting that the rates hold for, or None for an engine that does not draft. `lag`: what a request needs until its
    first token beside its prompt, in tokens at the speed of the rest: the engine's steps until it takes part in one.
    `lag_alone`: that of a request which meets no other, and so no step that has begun; None for the same.
    """

    rates: Sequence[float]
    prefill_seconds: float = 0.0
    prefill_rate: float = NEVER
    stall: float = 0.0
    accept_length: float | None = None
    lag: float = 0.0
    lag_alone: float | None = None

    def lag_at(self, held: int) -> float:
        """The lag of a request that is one of `held`."""
        return self.lag if held > 1 or self.lag_alone is None else self.lag_alone

    def prefill(self, prompt: int) -> float:
        """Seconds that a prompt of so many tokens takes if nothing else is processed."""
        return self.prefill_seconds + prompt / self.prefill_rate

    def rate(self, held: int) -> float:
        """Tokens per second for each of `held` requests; `held` is 1 or more."""
        last = len(self.rates) - 1
        return self.rates[held] if held <= last else self.rates[last] * last / held


class Tally:
    """What the replicas of one pool hold together: tokens of prompts whose first token has not come."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting = 0


class Job:
    """One request. Times are simulated seconds; `lag` and `work` are tokens' worth of service once the prompt is done:
    up to the first token, and after it.

    `waiting`: prompt tokens without a first token on its replica when it came there, its own included. `area` and
    `beside`: what `area` of its replica and of that one's twin was when its first token came; `held`: by how much its
    replica's has grown from then until it was done.
    """

    __slots__ = (
        "affinity",
        "area",
        "arrived",
        "beside",
        "done",
        "first",
        "held",
        "lag",
        "placed",
        "prefill",
        "prompt",
        "replica",
        "tokens",
        "waiting",
        "work",
    )

    def __init__(self, prompt: int = 0, tokens: float = 1.0, affinity: int = 0) -> None:
        self.prompt = prompt
        self.tokens = tokens
        self.work = tokens
        self.affinity = affinity
        self.prefill = self.lag = 0.0
        self.arrived = self.placed = self.first = self.done = 0.0
        self.area = self.beside = self.held = 0.0
        self.waiting = 0
        self.replica: Replica | None = None


class Replica:
    """One engine. It is a `Candidate` for balancing, as the gateway's replicas are.

    `served`: tokens generated; `area`: requests held, summed over seconds; both as of the last event or `catch_up`.
    `scale` multiplies the model's rates.
    """

    __slots__ = (
        "_agenda",
        "_decoding",
        "_due",
        "_ended",
        "_fire",
        "_lagging",
        "_left",
        "_number",
        "_prompts",
        "_rate",
        "_service",
        "_share",
        "_sharing",
        "_tally",
        "_then",
        "area",
        "digest",
        "inflight",
        "model",
        "outside",
        "role",
        "scale",
        "served",
        "twin",
        "waiting",
    )

    def __init__(
        self,
        agenda: Agenda,
        role: Role,
        digest: int,
        model: EngineModel,
        tally: Tally,
        ended: Callable[[list[Job]], None],
    ) -> None:
        """`ended` is told of requests that are done, once the replica no longer holds them."""
        self._agenda = agenda
        self._ended = ended
        self._fire = self._due_now
        self._tally = tally
        self._decoding: list[tuple[float, int, Job]] = []
        self._prompts: deque[Job] = deque()
        self._lagging = 0
        self._left = 0.0
        self._number = 0
        self._service = 0.0
        self._then = 0.0
        self._rate = 0.0
        self._share = 1.0
        self._sharing: Sharing = "own"
        self._due = NEVER
        self.role: Role = role
        self.digest = digest
        self.model = model
        self.inflight = 0
        self.outside = 0
        self.waiting = 0
        self.scale = 1.0
        self.twin: Replica | None = None
        self.served = 0.0
        self.area = 0.0

    def share_with(self, twin: "Replica", sharing: Sharing) -> None:
        """Run on the same hardware as `twin`."""
        self.twin, self._sharing = twin, sharing

    def add(self, job: Job) -> None:
        """Take a request now."""
        now = self._agenda.now
        self._advance(now)
        job.replica = self
        job.placed = now
        self.inflight += 1
        self.waiting += job.prompt
        self._tally.waiting += job.prompt
        job.waiting = self.waiting
        if job.prefill > 0.0:
            if not self._prompts:
                self._left = job.prefill
            self._prompts.append(job)
        else:
            self._processed(job, now)
        self._settle(now)
        if self.twin is not None:
            self.twin.refresh()

    def refresh(self) -> None:
        """Take a change of `scale`, or of what the twin holds, into account from now on."""
        if self.inflight:
            now = self._agenda.now
            self._advance(now)
            self._settle(now)

    def catch_up(self) -> None:
        """Bring `served` and `area` up to now."""
        self._advance(self._agenda.now)

    def _processed(self, job: Job, now: float) -> None:
        if job.lag > 0.0:
            self._lagging += 1
            self._number += 1
            heappush(self._decoding, (self._service + job.lag, self._number, job))
        else:
            self._start(job, now)

    def _start(self, job: Job, now: float) -> None:
        job.first = now
        self.waiting -= job.prompt
        self._tally.waiting -= job.prompt
        job.area = self.area
        if self.twin is not None:
            self.twin.catch_up()
            job.beside = self.twin.area
        self.served += job.tokens - job.work
        self._number += 1
        heappush(self._decoding, (self._service + job.work, self._number, job))

    def _advance(self, now: float) -> None:
        passed = now - self._then
        if passed <= 0.0:
            return
        self._then = now
        self.area += passed * self.inflight
        if self._decoding:
            gained = passed * self._rate
            self._service += gained
            self.served += gained * (len(self._decoding) - self._lagging)
        if self._prompts:
            self._left -= passed * self._share

    def _settle(self, now: float) -> None:
        """Sets the speed for what is held now, and when something is next done."""
        if not self.inflight:
            self._service = 0.0
            return
        rate, due, prompts, decoding = self.model.rate(self.inflight) * self.scale, NEVER, self._prompts, self._decoding
        if self.twin is not None:
            rate = self._together(self.twin)
        if prompts:
            rate *= 1.0 - self.model.stall
            due = now + max(self._left, 0.0) / self._share
        self._rate = rate
        if decoding and rate > 0.0:
            due = min(due, now + max(decoding[0][0] - self._service, 0.0) / rate)
        # An entry that comes too early finds nothing done, and is entered anew: cheaper than one for every change.
        if due < self._due:
            self._due = due
            self._agenda.at(due, self._fire)

    def _together(self, twin: "Replica") -> float:
        """The speed on shared hardware; sets the share for prompts too."""
        self._share = left(self._sharing, self.inflight, twin.inflight)
        if self._sharing == "time":
            return self.model.rate(self.inflight + twin.inflight) * self.scale
        return self.model.rate(self.inflight) * self.scale * self._share

    def _due_now(self) -> None:
        now = self._agenda.now
        if now != self._due:
            return
        self._due = NEVER
        self._advance(now)
        ended = self._done(now)
        self.inflight -= len(ended)
        self._settle(now)
        if not ended:
            return
        if self.twin is not None:
            self.twin.refresh()
        self._ended(ended)

    def _done(self, now: float) -> list[Job]:
        ended = []
        if self._prompts and self._left <= _ROUNDING * max(1.0, now):
            job = self._prompts.popleft()
            self._left = self._prompts[0].prefill if self._prompts else 0.0
            self._processed(job, now)
        reached = self._service + _ROUNDING * (1.0 + self._service) + _TICK * now * self._rate
        decoding = self._decoding
        while decoding and decoding[0][0] <= reached:
            job = heappop(decoding)[2]
            if job.lag > 0.0:
                job.lag = 0.0
                self._lagging -= 1
                self._start(job, now)
                continue
            job.done = now
            job.held = self.area - job.area
            ended.append(job)
        return ended
