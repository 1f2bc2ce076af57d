"""Open-loop load: requests arrive at random times that don't depend on the answers.

A closed loop sends less when the server is slow, and so never sees the queue that real arrivals would make (coordinated
omission). Here each request has a due time from a Poisson process, and latency counts from it, even if the generator
was late: how late is reported as a row of its own.
"""

import time
from typing import NoReturn

import gevent
from gevent.pool import Group
from locust import task
from locust.env import Environment

from loadtest.client import Ask, BlockingClient
from loadtest.users.base import StreamingUser, report, user_message


class ArrivalUser(StreamingUser):
    """Arrivals at the share of `--rate` that falls to one of `--arrival-users`: together they are Poisson too."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        options = environment.parsed_options
        assert options is not None
        self._rate: float = options.rate / options.arrival_users
        self._spare: list[BlockingClient] = []
        self._due = time.perf_counter()
        self._going = Group()

    @task
    def arrive(self) -> None:
        """Waits for the next arrival, and leaves it to a greenlet of its own."""
        self._due += self.rng.expovariate(self._rate)
        gevent.sleep(max(0.0, self._due - time.perf_counter()))
        self._going.spawn(self._one, self._due)

    def leave(self) -> NoReturn:
        """Once all answers are there."""
        self._going.join()
        super().leave()

    def on_stop(self) -> None:
        """Answers that are still to come have `--stop-timeout` to do so."""
        self._going.join(self.environment.stop_timeout or 0)
        for client in (self.client, *self._spare):
            client.close()

    def _one(self, due: float) -> None:
        late = time.perf_counter() - due
        client = self._spare.pop() if self._spare else BlockingClient(self.target, timeout=self.client.timeout)
        messages = [user_message(self.unique(next(self.prompts).text))]
        sample = client.ask(Ask(self.body(messages)), due)
        self._spare.append(client)
        report(self.environment, "arrival", sample)
        self.environment.events.request.fire(
            request_type="LATE",
            name="arrival",
            response_time=late * 1000,
            response_length=0,
            exception=None,
            context={},
        )
