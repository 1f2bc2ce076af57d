"""Pools that share hardware: the whole load goes where it is worth more, without switching to and fro."""

from typing import NamedTuple

from gateway.routing.types import Role, other

# Seconds of the whole load, lost by being in the wrong pool, that make it move: after a quiet time, and how often that
# doubles while it has moved a lot. Half of the moves are forgotten after so many seconds.
_PATIENCE, _DOUBLINGS, _FORGET = 1.0, 7.0, 2700.0
# By what part of its speed the other pool has to be faster to count, for each such move: a load that has moved to and
# fro is about the crossing, where what is known of the pools is not exact enough to say which is faster.
_DOUBT = 0.005
# What is taken as lost in one step between two requests: no more than so many seconds' worth.
_STEP = 2.0


class Together(NamedTuple):
    """Which pool has the load. `regret`: seconds' worth lost there lately; `strain`: moves not yet forgotten.

    `lost`: what part of its speed the load has lost there since `at`, below zero if the other pool is slower.
    """

    role: Role = "speculative"
    regret: float = 0.0
    strain: float = 0.0
    at: float = float("-inf")
    lost: float = 0.0


def choose(state: Together, worth: tuple[float, float], now: float) -> Together:
    """The pool for a newcomer, whose speed in the speculative and in the baseline pool is `worth`.

    What the other pool would be faster by adds up, what it would be slower by is taken off again; the load moves once
    the sum is worth some seconds. So a great difference moves it at once and a small one late. Each move doubles what
    the next one takes: a load that hovers about the crossing, where either pool will do, comes to rest.

    Until the next request comes, the difference is that which the last one made: where all come at once, the first one
    finds none of the others there.
    """
    role, regret, strain, at, lost = state
    passed = now - at if now > at else 0.0
    elapsed = min(passed, _STEP)
    if strain:
        strain *= 0.5 ** (passed / _FORGET)
    regret += (lost - _DOUBT * strain) * elapsed
    if regret < 0.0:
        regret = 0.0
    elif regret > _PATIENCE and regret > _PATIENCE * 2 ** min(strain, _DOUBLINGS):
        role, regret, strain = other(role), 0.0, strain + 1.0
    here, there = worth if role == "speculative" else (worth[1], worth[0])
    lost = (there - here) / here if here > 0.0 else 1.0 if there > 0.0 else 0.0
    if not -1.0 <= lost <= 1.0:
        lost = 1.0 if lost > 0.0 else -1.0
    return Together(role, regret, strain, now, lost)
