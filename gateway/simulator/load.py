"""Where requests come from: a closed loop, a Poisson process whose rate may change with time, a recorded trace."""

import math
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple, Protocol

from gateway.simulator.agenda import Agenda
from gateway.simulator.engine import Job
from gateway.simulator.lengths import Length

DAY = 86400.0


class Requests:
    """Makes requests; the n-th of a seed is the same whatever the policy, so that policies meet the same ones."""

    def __init__(self, seed: int, prompt: Length, output: Length) -> None:
        self._random = Random(f"requests {seed}")
        self._prompt, self._output = prompt.draw, output.draw

    def make(self) -> Job:
        """The next one."""
        random = self._random
        return Job(self._prompt(random), float(self._output(random)), random.getrandbits(32))


Arrive = Callable[[Job], None]
"""Takes a request that comes now."""


class Source(Protocol):
    """Sends requests to `arrive` from the time it is started."""

    def start(self, agenda: Agenda, arrive: Arrive) -> None:
        """Enter the first ones into the agenda."""
        ...

    def over(self, job: Job) -> None:
        """A request has ended or was refused."""
        ...


class ClosedLoop:
    """`clients` clients that send their next request when the last is over, `pause` seconds later if it was refused."""

    def __init__(self, clients: int, requests: Requests, pause: float = 1.0) -> None:
        self._clients = clients
        self._requests = requests
        self._pause = pause
        self._agenda = Agenda()
        self._arrive: Arrive | None = None

    def start(self, agenda: Agenda, arrive: Arrive) -> None:
        self._agenda, self._arrive = agenda, arrive
        for _ in range(self._clients):
            agenda.at(agenda.now, self._next)

    def over(self, job: Job) -> None:
        # Not from within the end of another: the fleet finishes that first.
        self._agenda.at(self._agenda.now + (0.0 if job.done else self._pause), self._next)

    def _next(self) -> None:
        assert self._arrive is not None
        self._arrive(self._requests.make())


class Rate(NamedTuple):
    """Requests per second as a function of time, never above `highest`."""

    at: Callable[[float], float]
    highest: float


def steady(rate: float) -> Rate:
    """The same all the time."""
    return Rate(lambda _: rate, rate)


def bursts(low: float, high: float, period: float, share: float) -> Rate:
    """`high` for the first `share` of every period (seconds), else `low`."""
    return Rate(lambda now: high if now % period < share * period else low, max(low, high))


def day(low: float, high: float, period: float = DAY) -> Rate:
    """A sine from `low`, at the start, to `high`, half a period later."""
    middle, swing = (low + high) / 2.0, (high - low) / 2.0
    return Rate(lambda now: middle - swing * math.cos(2.0 * math.pi * now / period), max(low, high))


class Open:
    """Requests that come whether or not others are done."""

    def __init__(self, arrivals: Iterable[tuple[float, Job]]) -> None:
        """`arrivals`: times in seconds, in order, and what comes then."""
        self._arrivals = iter(arrivals)
        self._agenda = Agenda()
        self._arrive: Arrive | None = None
        self._coming: Job | None = None

    def start(self, agenda: Agenda, arrive: Arrive) -> None:
        self._agenda, self._arrive = agenda, arrive
        self._enter_next()

    def over(self, job: Job) -> None:
        pass

    def _enter_next(self) -> None:
        for time, job in self._arrivals:
            self._coming = job
            self._agenda.at(time, self._next)
            return

    def _next(self) -> None:
        assert self._arrive is not None
        assert self._coming is not None
        self._arrive(self._coming)
        self._enter_next()


def poisson(rate: Rate, requests: Requests, seed: int) -> Iterator[tuple[float, Job]]:
    """Arrivals of a Poisson process, thinned to the rate (Lewis and Shedler)."""
    random, now = Random(f"arrivals {seed}"), 0.0
    while True:
        now += random.expovariate(rate.highest)
        if random.random() * rate.highest < rate.at(now):
            yield now, requests.make()
