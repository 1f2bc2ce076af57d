"""Pools that share hardware: the whole load goes where it is worth more, without switching to and fro."""

from typing import NamedTuple

from gateway.routing.types import Role, other

# Seconds of the whole load, lost by being in the wrong pool, that make it move: after a quiet time, and how often that
# doubles while it has moved a lot. Half of the moves are forgotten after so many seconds.
_PATIENCE, _DOUBLINGS, _FORGET = 1.0, 7.0, 3600.0
# By what part of its speed the other pool has to be faster to count, for each such move: a load that has moved to and
# fro is about the crossing, where what is known of the pools is not exact enough to say which is faster.
_DOUBT = 0.005
# What is taken as lost in one step between two requests: no more than so many seconds' worth.
_STEP = 2.0
# Seconds over which the usual number of requests is a mean.
_USUAL = 120.0


class Together(NamedTuple):
    """Which pool has the load. `regret`: seconds' worth lost there lately; `strain`: moves not yet forgotten.

    Since `at` there are `held` requests on a replica, and the load has lost the part `lost` of its speed there, below
    zero if the other pool is slower. `usual`: the mean of `held`. `proven`: whether it has gained by its last move
    what it took to move; until then `regret` is below zero by what it has gained. `moved`: when the last was.
    """

    role: Role = "speculative"
    regret: float = 0.0
    strain: float = 0.0
    at: float = float("-inf")
    lost: float = 0.0
    held: float = 0.0
    usual: float = 0.0
    proven: bool = True
    moved: float = float("-inf")


def choose(state: Together, worth: tuple[float, float], now: float, count: int) -> Together:
    """The pool for a newcomer that is one of `count` on a replica. Its speed by pool is `worth`.

    What the other pool would be faster by adds up, what it would be slower by is taken off again; the load moves once
    the sum is worth some seconds. So a great difference moves it at once and a small one late. Each move doubles what
    the next one takes: a load that hovers about the crossing, where either pool will do, comes to rest. But for the
    way back from a move that was for the worse: one that waited for as much again would lose as much again.

    A second lost while more requests than usual are there is lost by each of them, and by those that come before they
    are done: it counts as many times as much.

    Until the next request comes, the difference is that which the last one made: where all come at once, the first one
    finds none of the others there.
    """
    role, regret, strain, at, lost, held, usual, proven, moved = state
    passed = now - at if now > at else 0.0
    elapsed = passed
    if elapsed > _STEP:
        elapsed = _STEP
    if strain:
        strain *= 0.5 ** (passed / _FORGET)
    usual = usual + (held - usual) * elapsed / _USUAL if usual else held
    change = (lost - _DOUBT * strain) * elapsed
    regret += change * held / usual if held > usual else change
    if regret < 0.0:
        if proven:
            regret = 0.0
        elif regret < -_PATIENCE and regret < -_patience(strain):
            regret, proven = 0.0, True
    elif regret > _PATIENCE and (not proven or regret > _patience(strain)) and now - moved > _PATIENCE:
        role, regret, strain, proven, moved = other(role), 0.0, strain + 1.0, not proven, now
    here, there = worth if role == "speculative" else (worth[1], worth[0])
    lost = (there - here) / here if here > 0.0 else 1.0 if there > 0.0 else 0.0
    if not -1.0 <= lost <= 1.0:
        lost = 1.0 if lost > 0.0 else -1.0
    return Together(role, regret, strain, now, lost, count, usual, proven, moved)


def _patience(strain: float) -> float:
    return _PATIENCE * 2 ** min(strain, _DOUBLINGS)
