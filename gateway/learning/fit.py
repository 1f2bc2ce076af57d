"""From points to a curve: the seconds per token at every node.

Seconds per token rise nearly along a straight line with the requests in a batch: a step costs a fixed part (reading the
weights) and one for each request. So a line is fitted first, which is all there is where nothing was observed. What was
observed then corrects it: near a point the curve goes through the point. Isotonic regression at the end makes it
monotone, whatever the noise. The line alone (a parametric family) would be wrong by a third for engines that draft less
as their batch grows; the regression alone would know nothing outside the counts seen, where the policy has to look
before it sends requests there.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from gateway.learning.sketch import Point
from gateway.routing import NODES, isotone

# Requests as many as which the line weighs against a point; more of them than the second figure do not pull it further.
_LINE, _PULL = 0.5, 8.0
# Points within this ratio say nothing of a slope. Then this share of the pace is taken to grow with the count: little
# towards higher counts (the unknown is taken for good: the policy goes there one request at a time, and finds out) ...
_NARROW, _ABOVE, _BELOW = 1.4, 0.1, 0.5
# ... and half towards lower ones. The least share of the pace that does not grow with the count.
_FIXED = 0.1
# The weight in the regression of a node that no point is near.
_LEAST = 0.05


class _Line(NamedTuple):
    """Seconds per token: `start` + `slope` x in-flight; below the first point `below` x in-flight."""

    start: float
    slope: float
    below: float

    def at(self, inflight: float) -> float:
        return self.start + self.slope * inflight


def fit(points: Sequence[Point]) -> list[float]:
    """Seconds per token at each node, never falling, from one point or more by rising in-flight."""
    line = _line(points)
    counts = [point.inflight for point in points]
    ratios = [
        (point.requests * point.pace / line.at(point.inflight) + _LINE) / (point.requests + _LINE) for point in points
    ]
    paces, weights = [], []
    for node in NODES:
        at = bisect_left(counts, node)
        if at == 0:
            first = ratios[0] * line.at(counts[0])
            paces.append(max(first - line.below * (counts[0] - node), _FIXED * first))
            weights.append(points[0].requests if counts[0] < 1.2 * node else 0.0)
        elif at == len(points):
            paces.append(ratios[-1] * line.at(node))
            weights.append(points[-1].requests if node < 1.2 * counts[-1] else 0.0)
        else:
            part = (node - counts[at - 1]) / (counts[at] - counts[at - 1])
            paces.append(line.at(node) * (ratios[at - 1] + part * (ratios[at] - ratios[at - 1])))
            weights.append(min(points[at - 1].requests, points[at].requests))
    return isotone(paces, [weight + _LEAST for weight in weights], rising=True)


def _line(points: Sequence[Point]) -> _Line:
    """By weighted least squares of relative errors, within bounds."""
    total = across = up = square = product = 0.0
    for inflight, pace, requests in points:
        weight = min(requests, _PULL) / (pace * pace)
        total += weight
        across += weight * inflight
        up += weight * pace
        square += weight * inflight * inflight
        product += weight * inflight * pace
    count, pace = across / total, up / total
    if points[-1].inflight < _NARROW * points[0].inflight:
        slope = _ABOVE * pace / count
        return _Line(pace - slope * count, slope, _BELOW * pace / count)
    slope = (total * product - across * up) / (total * square - across * across)
    slope = min(max(slope, 0.0), (1 - _FIXED) * pace / count)
    return _Line(pace - slope * count, slope, slope)
