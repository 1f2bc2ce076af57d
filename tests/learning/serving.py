"""What requests observe on pools whose speed is known."""

from collections.abc import Callable
from random import Random

from gateway.learning import Learning, Observation
from gateway.routing import Role

Pace = Callable[[float], float]


def straight(start: float, slope: float) -> Pace:
    """Seconds per token that rise in a straight line with the requests in flight."""
    return lambda inflight: start + slope * inflight


def observation(at: float, inflight: float, pace: float, *, tokens: int = 256, per_event: float = 1.0) -> Observation:
    """A stream that took `pace` seconds for each token after its first event."""
    events = max(round(tokens / per_event), 2)
    seconds = (tokens - tokens / events) * pace
    return Observation(at, tokens, seconds, inflight, events=events, ttft=0.1, waiting=200.0, prompt_tokens=200)


def serve(
    learning: Learning,
    role: Role,
    pace: Pace,
    counts: list[float],
    *,
    start: float = 0.0,
    every: float = 1.0,
    noise: float = 0.0,
    seed: int = 1,
) -> float:
    """One request at each of these counts; returns when the last has ended. Curves are read in between, as in life."""
    random, at = Random(seed), start
    for count in counts:
        at += every
        learning.observe(role, observation(at, count, pace(count) * random.lognormvariate(0, noise)))
        learning.curves(at)
    return at
