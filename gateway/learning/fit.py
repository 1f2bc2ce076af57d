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

# Requests as many as which the line weighs against a point; more of them than the second figure do not pull it further,
# nor more than the third turn it by how they differ among themselves.
_LINE, _PULL, _WITHIN = 0.5, 50.0, 500.0
# The share of the pace that grows with the count, as long as the points say nothing of it: little at first (the unknown
# is taken for good: the policy goes there one request at a time, and finds out), more the longer it stays unknown, or a
# pool that serves at one count only would be thought well of for ever. After how many requests it is half way there,
# and how much those beliefs weigh: as one request at twice the count does.
_AT_FIRST, _AT_LAST, _HALF_WAY, _BELIEF = 0.1, 0.8, 60.0, 0.1
# The least share of the pace that does not grow with the count.
_FIXED = 0.05
# The variance of how steep the curve is at one count, as a share of the pace for twice the count, about the line.
_DIFFERENCE = 0.1
# The weight in the regression of a node that no point is near.
_LEAST = 0.05


class _Line(NamedTuple):
    """Seconds per token: `start` + `slope` x in-flight."""

    start: float
    slope: float

    def at(self, inflight: float) -> float:
        return self.start + self.slope * inflight


def fit(points: Sequence[Point], noise: float = 0.0) -> list[float]:
    """Seconds per token at each node, never falling, from one point or more by rising in-flight.

    `noise`: variance of one observation's logarithm.
    """
    line = _line(points)
    points = _apart(points, line, noise)
    counts = [point.inflight for point in points]
    ratios = [
        (point.requests * point.pace / line.at(point.inflight) + _LINE) / (point.requests + _LINE) for point in points
    ]
    paces, weights = [], []
    for node in NODES:
        at = bisect_left(counts, node)
        if at == 0:
            paces.append(ratios[0] * line.at(node))
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
    seen = total = across = up = 0.0
    for inflight, pace, requests, _, _ in points:
        weight = min(requests, _PULL)
        seen += requests
        total += weight
        across += weight * inflight
        up += weight * pace
    count, mean = across / total, up / total
    share = _AT_FIRST + (_AT_LAST - _AT_FIRST) * seen / (seen + _HALF_WAY)
    square, product = _BELIEF, _BELIEF * share
    for inflight, pace, requests, spread, slope in points:
        weight, aside = min(requests, _PULL) * (mean / pace) ** 2, inflight / count - 1
        within = min(requests, _WITHIN) * (mean / pace * spread / count) ** 2
        square += weight * aside * aside + within
        product += weight * aside * (pace / mean - 1) + within * slope * count / mean
    share = min(max(product / square, 0.0), 1 - _FIXED)
    return _Line(mean * (1 - share), mean * share / count)


def _apart(points: Sequence[Point], line: _Line, noise: float) -> list[Point]:
    """For each point two, where its requests say among themselves how the pace changes with the count.

    By the slope among them, as far as their noise allows; the rest by the line's.
    """
    parts: list[Point] = []
    for inflight, pace, requests, spread, slope in points:
        if not spread:
            parts.append(Point(inflight, pace, requests))
            continue
        sure = requests * (spread / inflight) ** 2
        part = sure / (sure + noise / _DIFFERENCE)
        steep = max(part * slope + (1 - part) * line.slope * pace / line.at(inflight), 0.0)
        aside = min(spread, pace / (2 * steep)) if steep else spread
        parts += [Point(inflight + by, pace + by * steep, requests / 2) for by in (-aside, aside)]
    return sorted(parts)
