"""Isotonic regression: the monotone sequence nearest to given values."""

from collections.abc import Sequence


def isotone(values: Sequence[float], weights: Sequence[float], *, rising: bool) -> list[float]:
    """The weighted least-squares fit that never falls (or never rises), by pooling adjacent violators.

    Weights are positive. Barlow, Bartholomew, Bremner and Brunk, Statistical Inference under Order Restrictions, 1972.
    """
    sign = 1.0 if rising else -1.0
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, total, size = value * sign, weight, 1
        while blocks and blocks[-1][0] >= mean:
            before, held, count = blocks.pop()
            mean = (mean * total + before * held) / (total + held)
            total += held
            size += count
        blocks.append((mean, total, size))
    return [mean * sign for mean, _, size in blocks for _ in range(size)]
