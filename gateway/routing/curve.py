"""What is believed of a pool's speed: a value, made by `learning` or from known points, read by the policy."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from gateway.routing.grid import LAST, NODES, index
from gateway.routing.isotone import isotone

NEVER = float("-inf")


class Curve(NamedTuple):
    """Speed of one pool's replicas by the requests that one holds. Times are monotonic seconds.

    `rates`: tokens per second that one request gets, at each of NODES, never rising. `gains`: what a newcomer is worth
    that makes a replica's requests so many, in the same unit, never rising; see `gains`. `known`: requests observed
    near each node, old ones counting less; `requests`: all that were ever observed; `highest`: the most in flight among
    those that still count for something. `newest`: when the last was.
    `spread`: standard deviation of what was observed about what was expected, as a natural logarithm. Time to first
    token: `first` seconds, and `prefill` for each prompt token that waits on the replica. `output`: mean tokens a
    request generates.
    """

    rates: tuple[float, ...]
    gains: tuple[float, ...]
    known: tuple[float, ...]
    requests: float
    newest: float
    spread: float
    first: float = 0.0
    prefill: float = 0.0
    output: float = 0.0
    highest: float = inf

    def rate(self, count: int) -> float:
        """Tokens per second that one of `count` requests on a replica gets."""
        at = index(count)
        rate, node = self.rates[at], NODES[at]
        if node == count or not at or count > LAST:
            return rate
        below, start = self.rates[at - 1], NODES[at - 1]
        return below + (rate - below) * (count - start) / (node - start)


UNKNOWN = Curve((0.0,) * len(NODES), (0.0,) * len(NODES), (0.0,) * len(NODES), 0.0, NEVER, 0.0)


def gains(rates: Sequence[float], weight: float) -> tuple[float, ...]:
    """What newcomers are worth, by node, for the rates r(n) there.

    The newcomer gets r(n+1); those n already there lose n (r(n) - r(n+1)) together. Worth is the first less `weight`
    times the second: with weight 1 what the total n r(n) grows by, with 0 the newcomer's own speed. Summed up over a
    replica's requests it is (1 - weight) (r(1) + ... + r(n)) + weight n r(n). Of that sum the concave hull is taken
    (never rising worth), so that to place one request after the other where it is worth most maximises the sum over
    both pools; a dip that noise or a step of the engine makes does not stop the filling of a pool before it.
    """
    worth, widths = [rates[0]], [1.0]
    for at in range(1, len(NODES)):
        start, end = NODES[at - 1], NODES[at]
        before, after, width = rates[at - 1], rates[at], end - start
        # The mean of r over the counts after `start` up to `end`, r being linear between nodes.
        mean = (before + after) / 2 + (after - before) / (2 * width)
        worth.append((1 - weight) * mean + weight * (end * after - start * before) / width)
        widths.append(float(width))
    return tuple(isotone(worth, widths, rising=False))
