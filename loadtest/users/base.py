"""What all users share: the measuring client, and how a sample becomes locust's events."""

import random
from functools import cache
from typing import Any, NoReturn, cast

import httpx
from locust import User
from locust.env import Environment
from locust.event import EventHook
from locust.exception import StopUser

from loadtest.client import Ask, BlockingClient, Sample, Target, parse_target
from loadtest.prompts import Mix, parse_mix

# Fired by a user that has done all its `--tasks`.
user_left = EventHook()
# Fired with each request's name and sample.
sampled = EventHook()
_seeds = random.Random()


class RequestFailedError(Exception):
    """How a request failed, as locust shows it among its failures."""


@cache
def first_model(host: str, api_key: str) -> str:
    """The first that the server lists. Raises BadTargetError, httpx.HTTPError, LookupError or ValueError."""
    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    response = httpx.get(f"{parse_target(host).url}/v1/models", headers=headers, trust_env=False, timeout=30)
    return str(response.raise_for_status().json()["data"][0]["id"])


class StreamingUser(User):
    """A user with a connection of its own. Subclasses have tasks; what they need is on the command line.

    `pause`: seconds between tasks, at random from the first to the second, before `--think` scales them.
    """

    abstract = True
    host = "http://localhost:8080"
    pause = (0.0, 0.0)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        options: Any = environment.parsed_options
        headers = {"authorization": f"Bearer {options.api_key}"} if options.api_key else {}
        if options.pool:
            headers["x-spillway-pool"] = options.pool
        self.rng = random.Random(_seeds.random())
        self.mix: Mix = parse_mix(options.mix)
        self.max_tokens: int = options.max_tokens
        self.long_tokens: int = options.long_tokens
        self._think: float = options.think
        self._tasks: int = options.tasks
        self._ended = 0
        self.target: Target = parse_target(self.host or "", headers)
        self.model: str = options.model or first_model(self.host or "", options.api_key)
        self.prompts = self.mix.draw(str(self.rng.random()))
        self.client = BlockingClient(self.target, timeout=options.request_timeout)

    def wait_time(self) -> float:
        """Locust calls it after each task, for the seconds to wait. Raises StopUser after the last of `--tasks`."""
        self._ended += 1
        if self._ended == self._tasks:
            self.leave()
        return self._think * self.rng.uniform(*self.pause)

    def leave(self) -> NoReturn:
        """Says so, and raises StopUser."""
        user_left.fire()
        raise StopUser

    def on_stop(self) -> None:
        """Locust calls it when the user leaves."""
        self.client.close()

    def body(self, messages: list[dict[str, Any]], **fields: object) -> dict[str, object]:
        """A chat request's body."""
        return {"model": self.model, "messages": messages, "max_tokens": self.max_tokens, **fields}

    def unique(self, text: str) -> str:
        """The text, begun with a number of its own, so that no prefix cache knows it."""
        return f"Task {self.rng.randrange(10**9)}.\n\n{text}"

    def ask(self, name: str, ask: Ask) -> Sample:
        """Sends it, and tells locust under this name."""
        sample = self.client.ask(ask)
        report(self.environment, name, sample)
        return sample


def report(environment: Environment, name: str, sample: Sample) -> None:
    """Fires locust's events for a sample.

    One of type POST for the whole request, whose length is its tokens; TTFT and TPOT with those as their times; POOL
    with the pool that answered and the reason as its name. They all count into locust's row of totals.
    """

    def fire(kind: str, of: str, seconds: float, *, length: int = 0, error: Exception | None = None) -> None:
        environment.events.request.fire(
            request_type=kind,
            name=of,
            response_time=seconds * 1000,
            response_length=length,
            exception=error,
            context={"pool": sample.pool, "reason": sample.reason},
        )

    error = RequestFailedError(f"{sample.outcome}: {sample.detail}") if sample.failed else None
    fire("POST", name, sample.duration, length=sample.tokens, error=error)
    if sample.ttft is not None:
        fire("TTFT", name, sample.ttft)
    if sample.tpot is not None:
        fire("TPOT", name, sample.tpot)
    if sample.pool:
        fire("POOL", f"{sample.pool}: {sample.reason}", sample.duration)
    sampled.fire(name=name, sample=sample)


def user_message(text: str) -> dict[str, Any]:
    """A message of the user's."""
    return cast("dict[str, Any]", {"role": "user", "content": text})
